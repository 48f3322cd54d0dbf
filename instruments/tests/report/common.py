# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the report share."""

import subprocess
from pathlib import Path

from commands import LIMIT, OMNI, run

# Each part of the time is in it: rank 1 waits for data, rank 0 for the receiver of a message above S, both compute.
GOAL = """num_ranks 3
rank 0 {
l1: calc 40000
l2: send 9000b to 1 tag 1
l3: send 60000b to 1 tag 2
l2 requires l1
l3 requires l2
}
rank 1 {
l1: recv 9000b from 0 tag 1
l2: calc 900000
l3: recv 60000b from 0 tag 2
l4: send 100b to 2 tag 3
l2 requires l1
l3 requires l2
l4 requires l3
}
rank 2 {
l1: calc 100000
l2: recv 100b from 1 tag 3
l2 requires l1
}
"""


def omni(*arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    """omni model ..., as a user types it."""
    return command("model", *arguments, check=check)


def command(*arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    """omni ..., as a user types it."""
    # `timeout` ends what was started too.
    return run("timeout", "-k", 5, LIMIT - 10, *OMNI, *arguments, check=check)


def goal_file(folder: Path) -> Path:
    path = folder / "three.goal"
    path.write_text(GOAL)
    return path

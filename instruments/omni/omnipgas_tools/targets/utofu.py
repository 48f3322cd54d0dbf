# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the utofu conduit, over the emulator of uTofu: what its code does where that does all at once, and
what arrives where that scrambles the order."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from omnipgas_tools.targets import work as work_targets
from omnipgas_tools.targets.target import Target, missing

CALLS = 4096
INSTRUCTIONS = 300.0
MESSAGES = 1e6
LIMIT = 3000  # seconds for them


def figures(build: Path) -> list[Target]:
    """All of them."""
    return [*work(build), messages(build)]


def work(build: Path) -> list[Target]:
    """Per 8-byte message."""
    return work_targets.work(
        work_targets.Stand(
            name="utofu",
            command=(str(build / "bin/tests/ompl_utofu_work"), str(CALLS)),
            device="libtofucom.so",
            env={**os.environ, "OMPL_SEGMENT_SIZE": "64M"},
            instructions=INSTRUCTIONS,
            posted={"put+flag": (2.0, 2.0), "put_signal": (2.0, 2.0)},
        )
    )


def messages(build: Path) -> Target:
    """Of 8 to 1,024 bytes, from 1, 2, 4 and 8 threads a rank, each compared to the last word by the one that waits."""
    name = "utofu, messages under scrambled order that arrived whole"
    program = build / "bin/tests/utofu_messages_test"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [str(program), "--gtest_filter=*AMillion*", f"--gtest_output=json:{report}"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
            suites = json.loads(report.read_text())["testsuites"]
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return missing(name, MESSAGES, False, str(error))
    if run.returncode != 0:
        return missing(name, MESSAGES, False, f"{program.name} failed: {run.stdout.strip()[-200:]}")
    whole = [int(test["whole"]) for suite in suites for test in suite["testsuite"]]
    return Target(name, sum(whole), MESSAGES, False, note="by 1, 2, 4 and 8 threads")

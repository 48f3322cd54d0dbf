# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the utofu conduit: what its code does, over the emulator of uTofu, which then does all at once."""

from __future__ import annotations

import os
from pathlib import Path

from omnipgas import work_figures
from omnipgas.figure import Figure

CALLS = 4096
INSTRUCTIONS = 300.0


def figures(build: Path) -> list[Figure]:
    """All of them."""
    return work_figures.work(
        work_figures.Stand(
            name="utofu",
            command=(str(build / "bin/tests/ompl_utofu_work"), str(CALLS)),
            device="libtofucom.so",
            env={**os.environ, "OMPL_SEGMENT_SIZE": "64M"},
            instructions=INSTRUCTIONS,
            posted={"put+flag": (2.0, 2.0), "put_signal": (2.0, 2.0)},
        )
    )

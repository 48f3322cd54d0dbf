# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the verbs conduit: what its code does, over a stand-in for the device that completes at once.

Time on a device in software measures nothing, so work is counted: instructions, doorbells, requests, calls of others.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from omnipgas_tools.targets import work as work_targets
from omnipgas_tools.targets.target import Target, interval, missing

DEVICE = "libibverbs.so.1"
CALLS = 4096
INSTRUCTIONS = 250.0
ROUNDS = 30
MILLISECONDS = 200


def figures(build: Path) -> list[Target]:
    """All of them."""
    return [*work(build), *rates(build)]


def _env(build: Path) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(build / "tests/conduits/verbs/stub"), "OMPL_SEGMENT_SIZE": "64M"}


def work(build: Path) -> list[Target]:
    """Per 8-byte message."""
    return work_targets.work(
        work_targets.Stand(
            name="verbs",
            command=(str(build / "bin/tests/ompl_verbs_work"), str(CALLS)),
            device=DEVICE,
            env=_env(build),
            instructions=INSTRUCTIONS,
            posted={"put+flag": (1.0, 2.0), "put_signal": (1.0, 1.0)},
        )
    )


def _rate(build: Path, what: str, threads: int, slots: int) -> dict[str, float]:
    command = [str(build / "bin/tests/ompl_verbs_rate"), what, str(threads), str(slots), str(MILLISECONDS)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=_env(build))
    if run.returncode != 0:
        said = (run.stderr.strip() or run.stdout.strip())[-200:]
        raise ValueError(f"ompl_verbs_rate {what} ended with status {run.returncode}: {said}")
    answer: dict[str, float] = json.loads(run.stdout)
    return answer


def rates(build: Path) -> list[Target]:
    """Growth with threads, beside bare queue pairs in rounds that alternate; and many threads on one endpoint."""
    grown = "verbs, 8 B put+flag, growth from 1 to 2 threads on 2 slots, of bare queue pairs'"
    shared = "verbs, 8 threads on 1 slot, messages of the slowest"
    try:
        growth: dict[str, list[float]] = {"ompl": [], "twin": []}
        for _ in range(ROUNDS):
            for what, ratios in growth.items():
                one, two = (_rate(build, what, threads, 2)["per_second"] for threads in (1, 2))
                ratios.append(two / one)
        crowd = _rate(build, "claims", 8, 1)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return [missing(grown, 0.9, False, str(error)), missing(shared, 1.0, False, str(error))]
    return [
        interval(grown, growth["ompl"], growth["twin"], 0.9, False),
        Target(shared, crowd["least"], 1.0, False, note=f"{crowd['failed_claims']:.4f} failed claims per message"),
    ]

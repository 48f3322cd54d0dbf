# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the verbs and utofu conduits, over stand-ins for their devices: the verbs one completes at once, the
emulator of uTofu also scrambles the order."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.measurement import in_turn, output
from omnipgas_tools.targets.target import Target
from omnipgas_tools.targets.work import Work, environment

STUB = "tests/conduits/verbs/stub"
VERBS = ("verbs", "bin/tests/ompl_verbs_work", "libibverbs.so.1", STUB)
UTOFU = ("utofu", "bin/tests/ompl_utofu_work", "libtofucom.so", "")
WORK = {
    "verbs": [Work(*VERBS, "put+flag", (250.0, 1.0, 2.0)), Work(*VERBS, "put_signal", (250.0, 1.0, 1.0))],
    "utofu": [Work(*UTOFU, "put+flag", (300.0, 2.0, 2.0)), Work(*UTOFU, "put_signal", (300.0, 2.0, 2.0))],
}
ROUNDS = 30
MILLISECONDS = 200
LIMIT = 3000  # seconds for a million messages


def _rate(build: Path, what: str, threads: int, slots: int) -> dict[str, float]:
    command = [build / "bin/tests/ompl_verbs_rate", what, threads, slots, MILLISECONDS]
    answer: dict[str, float] = json.loads(output(command, 60, environment(build, STUB)))
    return answer


def verbs_growth(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Growth with threads, beside bare queue pairs."""

    def growth(what: str) -> float:
        one, two = (_rate(bench.build, what, threads, 2)["per_second"] for threads in (1, 2))
        return two / one

    found = in_turn(ROUNDS, {"ompl": lambda: growth("ompl"), "twin": lambda: growth("twin")})
    yield targets[0].ratio(found["ompl"], found["twin"])


def verbs_crowd(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Many threads on one endpoint."""
    crowd = _rate(bench.build, "claims", 8, 1)
    yield targets[0].found(crowd["least"], f"{crowd['failed_claims']:.4f} failed claims per message")


def utofu_messages(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Messages of 8 to 1,024 bytes from 1, 2, 4 and 8 threads a rank; the waiting thread compares every word."""
    program = bench.build / "bin/tests/utofu_messages_test"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [program, "--gtest_filter=*AMillion*", f"--gtest_output=json:{report}"]
        output(command, LIMIT)
        suites = json.loads(report.read_text())["testsuites"]
    whole = [int(test["whole"]) for suite in suites for test in suite["testsuite"]]
    yield targets[0].found(sum(whole), "by 1, 2, 4 and 8 threads")

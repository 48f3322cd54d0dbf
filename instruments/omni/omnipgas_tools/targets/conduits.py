# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the verbs and utofu conduits, over stand-ins for their devices: the verbs one completes at once, the
emulator of uTofu also scrambles the order.

Time on a network in software measures nothing, so work is counted: instructions, requests, calls of others.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from omnipgas_tools.targets import callgrind
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, in_turn, output
from omnipgas_tools.targets.target import Target, at_most

STUB = "tests/conduits/verbs/stub"
ROUNDS = 30
MILLISECONDS = 200
LIMIT = 3000  # seconds for a million messages
CALLS = "4096"
# Operation as the program (tests/conformance/work.hpp) prints it, and its function.
FUNCTIONS = {"put+flag": "work_put_and_flag", "put_signal": "work_put_signal"}
LOCK = re.compile(r"(?<!c)lock|mutex|sem_")
# What of the C library enters the kernel; a clock does not.
SYSTEM = re.compile(r"syscall|futex|epoll|yield|nanosleep|timerfd|poll$|^(__)?(read|write|send|recv|ioctl|mmap|munmap)")


def environment(build: Path, libraries: str) -> dict[str, str]:
    """What a program over a stand-in runs with."""
    found = {"LD_LIBRARY_PATH": str(build / libraries)} if libraries else {}
    return {**os.environ, "OMPL_SEGMENT_SIZE": "64M", **found}


def work(
    conduit: str, program: str, device: str, libraries: str, operation: str, bounds: tuple[float, float, float]
) -> Measurement:
    """Counts per 8-byte message, on the initiator's side, from the call until its completion has been taken.

    `device`: the stand-in's library; what it does is nobody's. `libraries`: folder below the build folder that has it.
    `bounds`: of instructions of ours, doorbells and requests; locks and system calls have none to spare."""

    def measure(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
        function = FUNCTIONS[operation]
        command = [str(bench.build / program), CALLS]
        seen = callgrind.profile(command, function, device, environment(bench.build, libraries))
        counted = re.search(rf"{re.escape(operation)} calls (\d+) doorbells (\d+) requests (\d+)", seen.output)
        if counted is None or not seen.own:
            raise NotMeasuredError("the program printed no counts")
        calls, rung, posted = (int(group) for group in counted.groups())
        loop = seen.own.pop(function, 0)
        entered = {name: count for name, count in seen.calls.items() if LOCK.search(name) or SYSTEM.search(name)}
        others = ", ".join(sorted(entered)) or "calls of others: " + (", ".join(sorted(seen.calls)) or "none")
        instructions, doorbells, requests, locks = targets
        note = f"with flushes and all polls, without the calling loop's {loop / calls:.0f}"
        yield instructions.found((seen.own.total() + seen.others.total()) / calls, note)
        yield doorbells.found(rung / calls)
        yield requests.found(posted / calls)
        yield locks.found(sum(entered.values()) / calls, others)

    what = ("instructions of ours", "doorbells", "work requests", "locks and system calls of ours")
    start = f"{conduit}, 8 B {operation}"
    return Measurement(measure, *map(at_most, (f"{start}, {one}" for one in what), (*bounds, 0.0)))


verbs = partial(work, "verbs", "bin/tests/ompl_verbs_work", "libibverbs.so.1", STUB)
utofu = partial(work, "utofu", "bin/tests/ompl_utofu_work", "libtofucom.so", "")


def _rate(build: Path, what: str, threads: int, slots: int) -> dict[str, float]:
    command = [build / "bin/tests/ompl_verbs_rate", what, threads, slots, MILLISECONDS]
    answer: dict[str, float] = json.loads(output(command, 60, environment(build, STUB)))
    return answer


def verbs_growth(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Growth with threads, beside bare queue pairs."""

    def growth(what: str) -> float:
        one, two = (_rate(bench.build, what, threads, 2)["per_second"] for threads in (1, 2))
        return two / one

    found = in_turn(ROUNDS, {"ompl": lambda: growth("ompl"), "baseline": lambda: growth("baseline")})
    yield targets[0].ratio(found["ompl"], found["baseline"])


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

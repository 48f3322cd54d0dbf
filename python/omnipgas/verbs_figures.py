# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the verbs conduit: what its code does, over a stand-in for the device that completes at once.

Time on a device in software measures nothing, so work is counted: instructions, doorbells, requests, calls of others.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from omnipgas import callgrind
from omnipgas.figure import Figure, interval, missing

DEVICE = "libibverbs.so.1"
CALLS = 4096
INSTRUCTIONS = 250.0
ROUNDS = 30
MILLISECONDS = 200

# Operation as the program prints it, its function, requests that it may take.
OPERATIONS = (
    ("put+flag", "verbs_put_and_flag", 2.0),
    ("put_signal", "verbs_put_signal", 1.0),
)
LOCK = re.compile(r"(?<!c)lock|mutex|sem_")
# What of the C library enters the kernel; a clock does not.
SYSTEM = re.compile(r"syscall|futex|epoll|yield|nanosleep|timerfd|poll$|^(__)?(read|write|send|recv|ioctl|mmap|munmap)")


def figures(build: Path) -> list[Figure]:
    """All of them."""
    return [*work(build), *rates(build)]


def _env(build: Path) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(build / "tests/verbs/stub"), "OMPL_SEGMENT_SIZE": "64M"}


def work(build: Path) -> list[Figure]:
    """Per 8-byte message, on the initiator's side, from the call until its completion has been taken."""
    found: list[Figure] = []
    for operation, function, requests in OPERATIONS:
        where = f"verbs, 8 B {operation}"
        names = {
            f"{where}, instructions of ours": INSTRUCTIONS,
            f"{where}, doorbells": 1.0,
            f"{where}, work requests": requests,
            f"{where}, locks and system calls of ours": 0.0,
        }
        command = [str(build / "bin/tests/ompl_verbs_work"), str(CALLS)]
        try:
            seen = callgrind.profile(command, function, DEVICE, _env(build))
        except (OSError, subprocess.SubprocessError) as error:
            found += [missing(name, bound, True, str(error)) for name, bound in names.items()]
            continue
        counted = re.search(rf"{re.escape(operation)} calls (\d+) doorbells (\d+) requests (\d+)", seen.output)
        if counted is None or not seen.own:
            found += [missing(name, bound, True, "the program printed no counts") for name, bound in names.items()]
            continue
        calls, doorbells, posted = (int(group) for group in counted.groups())
        loop = seen.own.pop(function, 0)
        instructions = (seen.own.total() + seen.others.total()) / calls
        entered = {name: count for name, count in seen.calls.items() if LOCK.search(name) or SYSTEM.search(name)}
        values = (instructions, doorbells / calls, posted / calls, sum(entered.values()) / calls)
        notes = (
            f"with a flush per 256 and all polls, without the calling loop's {loop / calls:.0f}",
            "",
            "",
            ", ".join(sorted(entered)) or "calls of others: " + (", ".join(sorted(seen.calls)) or "none"),
        )
        found += [
            Figure(name, value, bound, True, note=note)
            for (name, bound), value, note in zip(names.items(), values, notes, strict=True)
        ]
    return found


def _rate(build: Path, what: str, threads: int, slots: int) -> dict[str, float]:
    command = [str(build / "bin/tests/ompl_verbs_rate"), what, str(threads), str(slots), str(MILLISECONDS)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=_env(build))
    if run.returncode != 0:
        said = (run.stderr.strip() or run.stdout.strip())[-200:]
        raise ValueError(f"ompl_verbs_rate {what} ended with status {run.returncode}: {said}")
    answer: dict[str, float] = json.loads(run.stdout)
    return answer


def rates(build: Path) -> list[Figure]:
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
        Figure(shared, crowd["least"], 1.0, False, note=f"{crowd['failed_claims']:.4f} failed claims per message"),
    ]

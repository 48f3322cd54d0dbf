# SPDX-License-Identifier: BSD-3-Clause
"""What a conduit's own code does per put and flag, over a stand-in for its network.

Time on a network in software measures nothing, so work is counted: instructions, requests, calls of others.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from omnipgas_tools.targets import callgrind
from omnipgas_tools.targets.target import Target, missing

# Operation as the program (tests/conformance/work.hpp) prints it, and its function.
OPERATIONS = {"put+flag": "work_put_and_flag", "put_signal": "work_put_signal"}
LOCK = re.compile(r"(?<!c)lock|mutex|sem_")
# What of the C library enters the kernel; a clock does not.
SYSTEM = re.compile(r"syscall|futex|epoll|yield|nanosleep|timerfd|poll$|^(__)?(read|write|send|recv|ioctl|mmap|munmap)")


@dataclass(frozen=True)
class Stand:
    """A network without its hardware."""

    name: str  # of the conduit
    command: tuple[str, ...]  # that does the work
    device: str  # the stand-in's library: what it does is nobody's
    env: Mapping[str, str]
    instructions: float  # bound of ours per message
    posted: Mapping[str, tuple[float, float]]  # by operation: bounds of doorbells and requests


def work(stand: Stand) -> list[Target]:
    """Per 8-byte message, on the initiator's side, from the call until its completion has been taken."""
    found: list[Target] = []
    for operation, function in OPERATIONS.items():
        where = f"{stand.name}, 8 B {operation}"
        doorbells, requests = stand.posted[operation]
        names = {
            f"{where}, instructions of ours": stand.instructions,
            f"{where}, doorbells": doorbells,
            f"{where}, work requests": requests,
            f"{where}, locks and system calls of ours": 0.0,
        }
        try:
            seen = callgrind.profile(stand.command, function, stand.device, stand.env)
        except (OSError, subprocess.SubprocessError) as error:
            found += [missing(name, bound, True, str(error)) for name, bound in names.items()]
            continue
        counted = re.search(rf"{re.escape(operation)} calls (\d+) doorbells (\d+) requests (\d+)", seen.output)
        if counted is None or not seen.own:
            found += [missing(name, bound, True, "the program printed no counts") for name, bound in names.items()]
            continue
        calls, rung, posted = (int(group) for group in counted.groups())
        loop = seen.own.pop(function, 0)
        instructions = (seen.own.total() + seen.others.total()) / calls
        entered = {name: count for name, count in seen.calls.items() if LOCK.search(name) or SYSTEM.search(name)}
        values = (instructions, rung / calls, posted / calls, sum(entered.values()) / calls)
        notes = (
            f"with flushes and all polls, without the calling loop's {loop / calls:.0f}",
            "",
            "",
            ", ".join(sorted(entered)) or "calls of others: " + (", ".join(sorted(seen.calls)) or "none"),
        )
        found += [
            Target(name, value, bound, True, note=note)
            for (name, bound), value, note in zip(names.items(), values, notes, strict=True)
        ]
    return found

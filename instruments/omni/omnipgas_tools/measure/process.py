# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel says of a process."""

import contextlib
import os
from collections import Counter
from pathlib import Path


def private_memory(pid: int) -> int:
    """Bytes that only this process has, or 0 if the kernel does not say."""
    return sum(size for name, size in _rollup(pid).items() if name.startswith("Private_"))


def own_memory(pid: int) -> int:
    """Bytes of memory that is no file's: anonymous, and the process's share of what it shares with others (a page that
    n processes map counts 1/n). Over the processes of a job these add up to what the job takes. 0 if the kernel does
    not say."""
    found = _rollup(pid)
    return found.get("Pss_Anon", 0) + found.get("Pss_Shmem", 0)


def _rollup(pid: int) -> dict[str, int]:
    """The sums of /proc/PID/smaps_rollup, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {line.partition(":")[0]: int(line.split()[1]) * 1024 for line in lines}


def descriptors(pid: int) -> int:
    """How many files, sockets and the like it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads_of(pid: int) -> str:
    """What its threads are doing."""
    states: Counter[str] = Counter()
    ticks = 0
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            states[fields[0]] += 1
            ticks += int(fields[11]) + int(fields[12])
    if not states:
        return f"(pid {pid}) is gone"
    text = " ".join(f"{count}x{state}" for state, count in sorted(states.items()))
    return f"(pid {pid}) threads {text}, CPU {ticks / os.sysconf('SC_CLK_TCK'):.1f} s"

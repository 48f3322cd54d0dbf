# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a check: commands with a time limit, of which no process is left when they are cut off.

Each step is a session of its own. Cutting it off sends SIGTERM to its first process, then to every process of the
session and to their descendants in other sessions, and SIGKILL to those that are still there after GRACE_S. A step is
cut off at its limit, and by Steps.stop(), which also keeps later steps from starting.

slowness() says by which factor the limits grow on this machine. It runs a fixed piece of work on every core at once:

    slowness = C / REFERENCE_S * max(W / C, 1 + L / N) * max(1, REFERENCE_CORES / N), not below 1, not above MOST

N: cores this process may use; C: CPU time of the work, the median of N copies; W: wall time of all of them, which
shows other processes and quotas; L: the load average of the last minute. REFERENCE_S: C on the machine of
REFERENCE_CORES cores for which the limits were chosen.
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 5.0
GIVE_UP_S = 60.0  # a process that sleeps in the kernel does not end by SIGKILL; on a busy machine others take long
REFERENCE_S = 0.5
REFERENCE_CORES = 2
MOST = 4.0
WORK = "import time\nx = 0\nfor i in range(5_000_000): x ^= i * i\nprint(time.process_time())"

NOT_BEGUN = "interrupted before it began"

Process = tuple[int, str]  # its id, and when it started: an id may be given again


@dataclass(frozen=True)
class Done:
    """A step that has ended."""

    status: int
    output: str
    cut: str = ""  # "timed out after 30 min", NOT_BEGUN, "interrupted after 5 s"; empty: it ended by itself


class Steps:
    """The steps that run now; they may be run from several threads."""

    def __init__(self, limit_s: float) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self.limit_s = limit_s
        self.stopped = False

    def run(self, log: Path, command: tuple[str, ...], folder: Path, more_s: float = 0, niceness: int = 0) -> Done:
        """Runs a command with its output in `log`, `more_s` beyond the limit at most."""
        begin = time.monotonic()
        with log.open("w") as out, self._lock:
            if self.stopped:
                return Done(130, "", NOT_BEGUN)
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            self._running.add(process.pid)
        be_nice(process.pid, niceness)
        late = False
        try:
            process.wait(self.limit_s + more_s)
        except subprocess.TimeoutExpired:
            late = True
        took = time.monotonic() - begin
        cut = ""
        if self.stopped:
            cut = f"interrupted after {span(took)}"
        elif late or took >= self.limit_s:  # or it noticed that itself
            cut = f"timed out after {span(took)}"
        if cut:
            end_session(process.pid)
        with self._lock:
            self._running.discard(process.pid)
        return Done(process.wait(), log.read_text(errors="replace"), cut)

    def stop(self) -> None:
        """Cuts off what runs, and lets nothing begin."""
        with self._lock:
            self.stopped = True
            running = set(self._running)
        threads = [threading.Thread(target=end_session, args=(leader,)) for leader in running]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def span(seconds: float) -> str:
    """A time for people."""
    return f"{seconds / 60:.0f} min" if seconds >= 600 else f"{seconds:.0f} s"


def be_nice(leader: int, niceness: int) -> None:
    """Where the kernel shares the cores among sessions, niceness counts inside a session only; it has one itself."""
    if niceness:
        with contextlib.suppress(OSError):  # it has ended, or the kernel has no such thing
            os.setpriority(os.PRIO_PGRP, leader, niceness)
            Path(f"/proc/{leader}/autogroup").write_text(str(niceness))


def processes() -> dict[Process, tuple[int, int]]:
    """Parent and session of every process that has not ended."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                found[int(entry.name), fields[19]] = int(fields[1]), int(fields[3])
    return found


def members(leader: int) -> set[Process]:
    """The processes of a session, and what descends from them."""
    every = processes()
    inside = {process for process, (_, session) in every.items() if session == leader}
    while True:
        ids = {process[0] for process in inside}
        more = {process for process, (parent, _) in every.items() if parent in ids} - inside
        if not more:
            return inside
        inside |= more


def end_session(leader: int) -> None:
    """Ends every process of the session, and what descends from them; those of other users may stay."""
    ours: set[Process] = set()
    asked: set[Process] = set()
    foreign: set[Process] = set()
    begin = time.monotonic()
    while (late := time.monotonic() - begin) < GIVE_UP_S:
        ours |= members(leader)
        ours = ours & processes().keys() - foreign
        if not ours:
            return
        kill = late >= GRACE_S
        first = {process for process in ours if process[0] == leader and not asked}  # lest it reports how others end
        due = ours if kill else first or ours - asked
        for process in due:
            try:
                os.kill(process[0], signal.SIGKILL if kill else signal.SIGTERM)
            except ProcessLookupError:
                pass
            except PermissionError:
                foreign.add(process)
        asked |= due
        time.sleep(0.05)


def slowness() -> float:
    """By what the limits are multiplied: see above."""
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    begin = time.monotonic()
    copies = [subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE, text=True) for _ in range(cores)]
    work = statistics.median(float(copy.communicate()[0]) for copy in copies)
    wall = time.monotonic() - begin
    return factor(work, wall, load, cores)


def factor(work: float, wall: float, load: float, cores: int) -> float:
    """The formula."""
    slow = work / REFERENCE_S * max(wall / work, 1 + load / cores) * max(1, REFERENCE_CORES / cores)
    return min(max(1.0, slow), MOST)

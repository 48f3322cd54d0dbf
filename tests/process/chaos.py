#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills, pauses and cuts at random moments of random jobs: chaos.py BUILD_DIR [--trials N] [--seed S] [--only I].

Each trial is a job of two to five ranks of chaos_rank in one phase, over one conduit, and one event: `kill` (SIGKILL to
a rank, or to two), `pause` (SIGSTOP, and SIGCONT later: nobody may take it for a death) or `cut` (TCP connections are
reset, one or all of a rank). Every survivor must end or go on, as ompl.h and docs/explanation/failures.md say, and
nothing may stay behind: no process, no shared memory, no socket, no file. The last lines are a table; `longest` is the
time from the event until the last survivor's call had returned, or the last rank made a step again. Seed and number say
all that is chosen; the moment in which an event meets a job is the machine's.

As root the jobs run in a network and mount namespace of their own; else there are no cuts.
"""

import argparse
import ctypes
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from faults import processes_marked

LIMIT_S = 200.0  # for anything that must happen at all
WANTED_S = 2.0  # for a survivor; told, not required, for the machine may be busy
MOST_FAILURES = 5
# UCX 1.13 aborts a process into which one that has just failed was putting (src/conduit/ucx/README.md); counted.
UCX_ABORTS = re.compile(r"ucp_request\.inl:\d+ +Fatal: unexpected error")
PHASES = ("init", "alloc", "barrier", "puts", "collectives", "halo", "finalize")
EVENTS = ("kill", "pause", "cut")
START_S = {"shm": 0.03, "tcp": 0.1, "ofi": 0.12, "ucx": 0.3, "psm2": 0.3}  # of a job, about
UNCUT = ("shm", "psm2")  # no data of theirs go over TCP
# libpsm2 leaves its part of /dev/shm when a process is killed (src/conduit/psm2/README.md).
STAYS = re.compile(r"psm2_shm\.")
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
READY, WENT_ON = 1, 4  # states of chaos_rank.c, whose layout this is:
HEAD = struct.Struct("5q")  # go, stop, killed, last[2]
ROW = struct.Struct("7q32s")  # pid, state, steps, code, error_ns, knows_ns, ended_ns, call
MOST_RANKS = 16


class BrokenError(Exception):
    """What a trial showed that must not be."""


@dataclass(frozen=True)
class Trial:
    number: int
    phase: str
    conduit: str
    event: str
    ranks: int
    victims: tuple[int, ...]
    delay_s: float  # from the beginning of the phase to the event
    pause_s: float
    all_connections: bool  # of the victim; else one
    mixed: bool  # two nodes, each of which shares memory; else every rank is reached by the network
    endpoints: int
    after: str
    keep_going: bool

    def __str__(self) -> str:
        kind = {
            "kill": f"kill of {', '.join(map(str, self.victims))}, then {self.after}",
            "pause": f"pause of {self.victims[0]} for {self.pause_s:.3f} s",
            "cut": f"cut of {'all connections' if self.all_connections else 'a connection'} of {self.victims[0]}",
        }[self.event]
        how = ("two nodes, " if self.mixed else "") + ("" if self.keep_going else "the launcher ends the job, ")
        return (
            f"trial {self.number}: {self.phase} over {self.conduit}, {self.ranks} ranks, {how}"
            f"{self.endpoints} endpoints, {kind}, {self.delay_s * 1000:.1f} ms after the beginning"
        )


def cells(conduits: list[str], events: list[str]) -> list[tuple[str, str, str]]:
    return [cell for cell in product(PHASES, conduits, events) if cell[2] != "cut" or cell[1] not in UNCUT]


def trials(seed: int, count: int, all_cells: list[tuple[str, str, str]]) -> Iterator[Trial]:
    """Each cell as often as any other."""
    order: list[tuple[str, str, str]] = []
    for number in range(count):
        if not order:
            order = random.Random(f"{seed} {number}").sample(all_cells, len(all_cells))
        phase, conduit, event = order.pop()
        chance = random.Random(f"{seed} {number} {phase} {conduit} {event}")
        ranks = chance.choice((2, 3, 3, 4, 5))
        victims = chance.sample(range(ranks), 2 if event == "kill" and ranks > 3 and chance.random() < 0.2 else 1)
        longest = START_S[conduit] if phase == "init" else 0.06
        if phase in ("init", "finalize"):  # mostly soon: they are short
            longest *= chance.random() ** 2
        yield Trial(
            number, phase, conduit, event, ranks, tuple(victims),
            delay_s=chance.uniform(0, longest),
            pause_s=chance.uniform(0.01, 1.0 if chance.random() < 0.9 else 4.0),
            all_connections=chance.random() < 0.5,
            mixed=conduit != "shm" and ranks > 2 and chance.random() < 0.4,
            endpoints=chance.choice((1, 2)),
            after=chance.choice(("leave", "go-on")) if event == "kill" else "leave",
            keep_going=event != "kill" or chance.random() < 0.8,
        )  # fmt: skip


class Page:
    """What driver and ranks tell each other."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(HEAD.size + MOST_RANKS * ROW.size))
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)

    def set(self, place: int, value: int) -> None:
        struct.pack_into("q", self.memory, place * 8, value)

    def rows(self, ranks: int) -> list["Row"]:
        return [Row(*ROW.unpack_from(self.memory, HEAD.size + rank * ROW.size)) for rank in range(ranks)]


GO, STOP, KILLED = 0, 1, 2


@dataclass(frozen=True)
class Row:
    pid: int
    state: int
    steps: int
    code: int
    error_ns: int
    knows_ns: int
    ended_ns: int
    call: bytes

    @property
    def reacted_ns(self) -> int:
        return self.error_ns or self.ended_ns


def sockets() -> list[list[str]]:
    """Of TCP in this namespace, but those that only the kernel remembers: state, local and remote address, owner."""
    listed = subprocess.run(["ss", "-Htanp"], text=True, capture_output=True, check=True, timeout=LIMIT_S).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [[row[0], row[3], row[4], row[5] if len(row) > 5 else ""] for row in rows if row[0] != "TIME-WAIT"]


def cut(pid: int, every: bool, chance: random.Random) -> int:
    """Resets established connections of a process; how many."""
    mine = [row for row in sockets() if row[0] == "ESTAB" and f"pid={pid}," in row[3]]
    hit = 0
    for _, here, there, _ in mine if every or not mine else [chance.choice(mine)]:
        killed = subprocess.run(["ss", "-KHtn", "src", here, "dst", there], text=True, capture_output=True,
                                check=True, timeout=LIMIT_S)  # fmt: skip
        hit += bool(killed.stdout.strip())
    return hit


@dataclass
class Outcome:
    went_on: bool
    seconds: float
    left_behind: list[str] = field(default_factory=list)
    aborted_by_ucx: bool = False


class Job:
    """One trial under way."""

    def __init__(self, build: Path, folder: Path, trial: Trial) -> None:
        self.trial = trial
        self.folder = folder
        self.mark = f"OMPL_CHAOS={os.getpid()}-{trial.number}"
        self.page = Page(folder / "page")
        self.errors = (folder / "stderr").open("w+")
        nodes = ["--node-of", ",".join(str(rank % 2) for rank in range(trial.ranks))] if trial.mixed else []
        keep_going = ["--keep-going"] if trial.keep_going else []
        name, value = self.mark.split("=")
        environment = {
            name: value,
            "OMPL_CONDUITS": ("self,shm," if trial.mixed else "self,") + trial.conduit,
            "OMPL_ENDPOINTS": str(trial.endpoints),
            "OMPL_SEGMENT_SIZE": "64M",
            "UCX_TLS": "tcp",
            "UCX_LOG_LEVEL": "fatal",
            "PSM2_DEVICES": "self,shm",
            "TMPDIR": str(folder / "tmp"),
        }
        (folder / "tmp").mkdir()
        self.process = subprocess.Popen(
            [str(build / "bin/omplrun"), *keep_going, "-n", str(trial.ranks), *nodes,
             str(build / "bin/tests/chaos_rank"), trial.phase, trial.after, str(folder / "page")],
            env={**os.environ, **environment}, stdout=self.errors, stderr=self.errors,
        )  # fmt: skip

    def rows(self) -> list[Row]:
        return self.page.rows(self.trial.ranks)

    def ready(self) -> bool:
        return all(row.state >= READY for row in self.rows())

    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > limit:
                raise BrokenError(f"{what} took more than {LIMIT_S:.0f} s")
            time.sleep(0.0005)

    def begin(self) -> None:
        self.wait_for(lambda: self.ready() or self.ended(), "the beginning")
        if not self.ready():
            raise BrokenError("the job ended before the event")
        self.page.set(GO, 1)
        time.sleep(self.trial.delay_s)

    def event(self, chance: random.Random) -> int:
        """Lets it happen; when it had."""
        pids = [self.rows()[victim].pid for victim in self.trial.victims]
        if self.trial.event == "kill":
            self.page.set(KILLED, sum(1 << victim for victim in self.trial.victims))
        now = time.monotonic_ns()
        try:
            if self.trial.event == "cut":
                cut(pids[0], self.trial.all_connections, chance)
            for pid in pids if self.trial.event == "kill" else ():
                os.kill(pid, signal.SIGKILL)
            if self.trial.event == "pause":
                os.kill(pids[0], signal.SIGSTOP)
                time.sleep(self.trial.pause_s)
                now = time.monotonic_ns()
                os.kill(pids[0], signal.SIGCONT)
        except ProcessLookupError:  # it had ended already
            pass
        return now

    def watch(self, begin: int) -> dict[int, int]:
        """Until the job ends; when each rank made a step after the event."""
        before = [row.steps for row in self.rows()]
        stepped: dict[int, int] = {}

        def over() -> bool:
            rows = self.rows()
            for rank, row in enumerate(rows):
                if rank not in stepped and (row.steps > before[rank] or row.reacted_ns > begin):
                    stepped[rank] = row.reacted_ns if row.reacted_ns > begin else time.monotonic_ns()
            enough = 20 if self.trial.event == "cut" else 1
            if all(row.error_ns or row.steps >= was + enough for row, was in zip(rows, before, strict=True)):
                self.page.set(STOP, 1)
            return self.ended()

        self.wait_for(over, "the end of the job")
        return stepped

    def judge(self, begin: int, end: int, stepped: dict[int, int]) -> Outcome:
        """What came of it; raises what must not be."""
        rows = self.rows()
        said = self.said()
        dead = self.trial.victims if self.trial.event == "kill" else ()
        survivors = [row for rank, row in enumerate(rows) if rank not in dead]
        if UCX_ABORTS.search(said):
            return Outcome(False, max(0, end - begin) * 1e-9, aborted_by_ucx=True)
        if "wrong: " in said:
            raise BrokenError("a rank says that something is wrong")
        if self.trial.event == "pause":
            if self.process.returncode != 0 or any(row.code for row in rows):
                raise BrokenError(f"a pause was taken for more: {[(row.code, row.call) for row in rows]}")
            return Outcome(True, (max(stepped.values(), default=begin) - begin) * 1e-9)
        loops = self.trial.phase not in ("init", "finalize")
        if dead and self.trial.keep_going and loops:
            if not all(row.code for row in survivors):
                raise BrokenError("a survivor's calls never failed")
            if self.trial.after == "go-on" and any(row.state != WENT_ON for row in survivors):
                raise BrokenError("a survivor did not go on")
        if self.trial.event == "cut":
            went_on = not any(row.code for row in rows)
            last = max((row.reacted_ns if row.code else stepped.get(rank, begin)) for rank, row in enumerate(rows))
        else:
            went_on = all(row.state == WENT_ON or row.code == 0 for row in survivors) and self.trial.keep_going
            last = max((row.reacted_ns or end for row in survivors), default=end)
        return Outcome(went_on, max(0, last - begin) * 1e-9)

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def leftovers(self, alone: bool) -> list[str]:
        """What is still there though the job has ended. `alone`: nobody else uses these namespaces."""
        found = [f"process {pid}" for pid in processes_marked(self.mark)]
        found += [f"file {path.name}" for path in (self.folder / "tmp").iterdir()]
        pids = {str(self.process.pid), *(str(row.pid) for row in self.rows())}
        names = [name for name in os.listdir("/dev/shm") if not STAYS.match(name)]
        found += [f"/dev/shm/{name}" for name in names if alone or pids & set(re.findall(r"\d+", name))]
        return found + [f"socket {' '.join(row)}" for row in (sockets() if alone else [])]

    def close(self) -> None:
        """Whatever became of it."""
        if not self.ended():
            for row in self.rows():  # they say what they wait for
                if row.pid and not row.ended_ns:
                    try:
                        os.kill(row.pid, signal.SIGUSR1)
                    except ProcessLookupError:
                        continue
            time.sleep(1)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            for pid in processes_marked(self.mark):
                os.kill(pid, signal.SIGKILL)
        self.errors.close()


def run_trial(build: Path, trial: Trial, alone: bool) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="ompl-chaos-") as name:
        job = Job(build, Path(name), trial)
        try:
            job.begin()
            begin = job.event(random.Random(f"{trial}"))
            stepped = job.watch(begin)
            outcome = job.judge(begin, time.monotonic_ns(), stepped)
            outcome.left_behind = job.leftovers(alone)
        except BrokenError as broken:
            job.close()
            states = "\n".join(f"  rank {rank}: {row}" for rank, row in enumerate(job.rows()))
            raise BrokenError(f"{broken}\n{states}\n{job.said()}") from None
        finally:
            job.close()
        return outcome


def withdraw() -> bool:
    """Takes this process and what it starts into namespaces where nobody else is; False without root."""
    if os.geteuid() != 0 or shutil.which("ss") is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
        return False
    for command in (
        "mount --make-rprivate /", "mount -t tmpfs tmpfs /dev/shm", "ip link set lo up",
    ):  # fmt: skip
        subprocess.run(command.split(), check=True, timeout=LIMIT_S)
    return True


def conduits(build: Path) -> list[str]:
    info = subprocess.run([str(build / "bin/ompl-info")], text=True, capture_output=True, check=True, timeout=LIMIT_S)
    return ["shm", "tcp"] + [name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", info.stdout, re.MULTILINE)]


def print_table(outcomes: dict[tuple[str, str, str], list[Outcome]]) -> None:
    print("\n| phase | conduit | event | count | ended | went on | longest, s | over 2 s | left behind |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (phase, conduit, event), found in sorted(outcomes.items(), key=lambda item: PHASES.index(item[0][0])):
        went_on = sum(outcome.went_on for outcome in found)
        seconds = [outcome.seconds for outcome in found]
        late = sum(second > WANTED_S for second in seconds)
        left = sum(len(outcome.left_behind) for outcome in found)
        ended = len(found) - went_on
        print(f"| {phase} | {conduit} | {event} | {len(found)} | {ended} | {went_on} | {max(seconds):.2f} |"
              f" {late} | {left} |")  # fmt: skip
    everything = [outcome for found in outcomes.values() for outcome in found]
    print(f"{len(everything)} events; {sum(outcome.seconds > WANTED_S for outcome in everything)} over {WANTED_S} s;"
          f" longest {max((outcome.seconds for outcome in everything), default=0):.2f} s; in"
          f" {sum(outcome.aborted_by_ucx for outcome in everything)} UCX aborted a survivor")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--only", type=int, help="the number of one trial")
    parser.add_argument(
        "--conduits", help="of shm, tcp, ofi, ucx and psm2, those named; changes what a number stands for"
    )
    parser.add_argument("--events", default=",".join(EVENTS), help="of kill, pause and cut, likewise")
    parser.add_argument("--verbose", action="store_true", help="a line for each trial")
    options = parser.parse_args()
    build = options.build.resolve()
    names = options.conduits.split(",") if options.conduits else conduits(build)
    alone = withdraw()
    events = [event for event in options.events.split(",") if alone or event != "cut"]
    outcomes: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    failures: list[str] = []
    for trial in trials(options.seed, options.trials, cells(names, events)):
        if options.only not in (None, trial.number):
            continue
        try:
            outcome = run_trial(build, trial, alone)
            outcomes[trial.phase, trial.conduit, trial.event].append(outcome)
            if outcome.left_behind:
                raise BrokenError(f"left behind: {', '.join(outcome.left_behind)}")
            if options.verbose or outcome.seconds > WANTED_S:
                print(f"{trial}: {'went on' if outcome.went_on else 'ended'}, {outcome.seconds:.3f} s", flush=True)
        except BrokenError as broken:
            failures.append(f"FAILED: seed {options.seed}, {trial}:\n{broken}")
            print(failures[-1], flush=True)
            if len(failures) == MOST_FAILURES:
                break
    print_table(outcomes)
    if not alone:
        print("no cuts: they need root and ss (Debian: iproute2)")
    for failure in failures:  # once more, for a log of which only the end is kept
        print(*failure.splitlines()[:2])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Measures several libraries in interleaved rounds: A B, B A, ... in shuffled order.

The machine drifts; two libraries are comparable only within a round. A worker that hangs, crashes or
corrupts data is reported and started again for the next size; the others go on.
"""

from __future__ import annotations

import contextlib
import math
import random
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from omnipgas_tools.libraries.peers import Found
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.jobs import Jobs
from omnipgas_tools.measure.worker import END_LIMIT, GRACE, Round, Worker, WorkerError

FAILURES_TO_GIVE_UP = 2  # of one library and operation in a row, at one thread count
RATE_REGION = 4096  # bytes that the messages of `rate` walk over


@dataclass(frozen=True)
class Contender:
    """A library and one of its operations."""

    found: Found
    op: str

    @property
    def library(self) -> str:
        """Its name, with what of it is measured."""
        return self.found.name

    def fits(self, threads: int) -> bool:
        """Whether so many threads use all endpoints that were asked for: this layer's pool may be larger."""
        return not self.found.peer.sweep or (self.found.endpoints or 0) <= threads

    @property
    def key(self) -> tuple[str, str]:
        """The library and the operation."""
        return self.library, self.op

    @property
    def twin(self) -> tuple[str, str]:
        """The key of what it is compared with: a twin has no messages."""
        return self.found.twin, self.op if self.op.startswith("put") else "put"


@dataclass(frozen=True)
class Limits:
    """How long and how often to measure."""

    rounds: int = 30  # at most
    min_rounds: int = 5
    starts: int = 1  # of the jobs, among which the rounds are divided
    tolerance: float = 0.05  # stop once the half interval of every median is below this fraction
    seconds: float = 0.02  # of one block, and
    iterations: int = 100_000  # at most this many per thread,
    large_iterations: int = 1_000  # or this many above
    large: int = 128 * 1024  # bytes
    cell_seconds: float = 4.0  # a contender that has used this much stops after min_rounds
    timeout: float = 30.0  # of one block, until its worker counts as hung

    def block(self, size: int) -> tuple[int, float]:
        """Iterations and seconds of one block."""
        return (self.large_iterations if size > self.large else self.iterations), self.seconds

    def of_a_start(self) -> Limits:
        """What each start has of them."""
        rounds, fewest = (math.ceil(count / self.starts) for count in (self.rounds, self.min_rounds))
        return replace(self, rounds=rounds, min_rounds=fewest, cell_seconds=self.cell_seconds / self.starts)


# All libraries: where a job's memory lies differs with each start, and costs or saves up to half of 4 MiB. Of what
# differs so, the true median lies outside the values of 3 starts once in 4 runs, of 6 once in 32.
FULL = Limits(rounds=24, min_rounds=12, starts=6)
QUICK = Limits(rounds=5, min_rounds=3, seconds=0.01, cell_seconds=1.0, timeout=8.0)
QUICK_SIZES = (4, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)  # bytes


@dataclass
class Cell:
    """All rounds of one contender at one thread count and size."""

    contender: Contender
    bench: str
    threads: int
    size: int
    rounds: list[Round] = field(default_factory=list)
    status: str = "ok"
    reason: str = ""
    version: str = ""
    transport: str = ""
    endpoints: int | None = None
    startup: float | None = None  # seconds until its worker was ready, and
    memory: int | None = None  # bytes of one of its ranks then
    ends: list[int] = field(default_factory=list)  # of each finished start of the jobs: how many rounds there were
    used: float = 0.0  # seconds spent in this start

    def values(self) -> list[float]:
        """The figure that is compared, one per round: slowest thread's latency, or the rate."""
        return [r.slowest_us if self.bench == "pingpong" else r.rate for r in self.rounds]

    def interval(self) -> stats.Interval:
        """Their median, and how well it is known."""
        values = self.values()
        borders = [0, *self.ends, len(values)]
        return stats.clustered_interval([values[first:end] for first, end in pairwise(borders)])

    def recent(self) -> list[float]:
        """Those of this start."""
        return self.values()[self.ends[-1] if self.ends else 0 :]

    def end_start(self) -> None:
        """The jobs will be started anew."""
        self.ends.append(len(self.rounds))
        self.used = 0.0

    def exhausted(self, limits: Limits) -> bool:
        """Whether this cell takes no more rounds: it failed, or it has cost enough."""
        enough = len(self.recent()) >= limits.min_rounds and self.used > limits.cell_seconds
        return self.status != "ok" or enough

    def precise(self, limits: Limits) -> bool:
        """Whether the median of this start is known well enough."""
        recent = self.recent()
        return len(recent) >= limits.min_rounds and stats.median_interval(recent).relative_width < limits.tolerance


class Progress:
    """What a caller may want to see; does nothing by itself."""

    def plan(self, parts: int) -> None:
        """So many parts will be measured."""

    def at(self, what: str) -> None:
        """This is being done now."""

    def done(self) -> None:
        """One of them is finished."""


def how_started(worker: Worker | Jobs) -> dict[str, Any]:
    """For the result file."""
    return {
        "command": worker.command_line,
        "environment": worker.environment,
        "settings": [
            {"variable": s.env, "why": s.why, "source": s.source} for s in worker.found.applying(worker.threads)
        ],
        "details": worker.hello[0]["details"],
        "caveats": worker.found.peer.caveats,
    }


class Crew:
    """The workers of one thread count, started on first use and again after a failure. All but the one in use are
    stopped: threads that a library keeps busy beside its user's would take the cores from the others. If this process
    is killed they go on, and end since nobody listens."""

    GUARD = 'while read -r pid; do all="$all $pid"; done; kill -CONT $all'  # once no more can come

    def __init__(self, threads: int, size: int, started: dict[str, dict[str, Any]]) -> None:
        """`started` gets how each was started."""
        self._threads = threads
        self._size = size
        self._started = started
        self._workers: dict[str, Worker | Jobs] = {}
        self._used = ""
        self._guard = subprocess.Popen(
            ["sh", "-c", self.GUARD],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def worker(self, found: Found) -> Worker | Jobs:
        """The library's worker, ready."""
        name = found.name
        if name != self._used and self._used in self._workers:
            self._workers[self._used].stop()
        self._used = name
        if name in self._workers:
            self._workers[name].go_on()
        else:
            start = Jobs if found.processes else Worker
            worker = self._workers[name] = start(found, self._threads, self._size)
            print(*worker.pids, sep="\n", file=self._guard.stdin, flush=True)
            self._started[f"{name}, {self._threads} threads"] = how_started(worker)
        return self._workers[name]

    def drop(self, library: str) -> None:
        """Forgets a worker that failed."""
        self._workers.pop(library, None)

    def close(self, limit: float) -> None:
        """Ends all workers, each within so many seconds."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._guard)
            for worker in self._workers.values():
                worker.go_on()
                worker.ask_to_end()
                stack.callback(worker.close, limit)


@dataclass
class Outcome:
    """Everything that was measured."""

    cells: list[Cell] = field(default_factory=list)
    started: dict[str, dict[str, Any]] = field(default_factory=dict)  # "library, N threads": how
    interrupted: bool = False

    def complete(self) -> list[Cell]:
        """The cells that have a result."""
        return [c for c in self.cells if c.rounds or c.status != "ok"]

    def cell(self, library: str, op: str, threads: int, size: int) -> Cell | None:
        """The cell of these coordinates, if it was measured."""
        for cell in self.cells:
            if (*cell.contender.key, cell.threads, cell.size) == (library, op, threads, size):
                return cell
        return None


def run_interleaved(
    bench: str,
    contenders: Sequence[Contender],
    threads: Sequence[int],
    sizes: Sequence[int],
    limits: Limits | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    done: Collection[tuple[int, int]] = (),
    keep: Callable[[Outcome, Sequence[Cell]], None] | None = None,
) -> Outcome:
    """Measures every contender at every thread count and size; `bench` is pingpong, rate or flow.

    Ctrl-C ends it early with what was measured so far. Of the thread counts and sizes in `done` nothing is measured;
    `keep` is called with the cells of each of the others once they are complete, so that a file can be written.
    """
    run = _Run(bench, limits or Limits(), random.Random(seed), progress or Progress())
    todo = {count: [size for size in sizes if (count, size) not in done] for count in threads}
    fit = {count: [one for one in contenders if one.fits(count)] for count in threads}
    run.progress.plan(run.limits.starts * sum(len(fit[count]) * len(todo[count]) for count in threads))
    try:
        for count in threads:
            if todo[count] and fit[count]:
                run.thread_count(fit[count], count, todo[count], keep)
    except KeyboardInterrupt:
        run.outcome.interrupted = True
    run.outcome.cells = run.outcome.complete()
    return run.outcome


class _Run:
    def __init__(self, bench: str, limits: Limits, order: random.Random, progress: Progress) -> None:
        self.bench = bench
        self.limits = limits
        self.order = order
        self.progress = progress
        self.outcome = Outcome()
        self.failures: dict[tuple[str, str], list[str]] = {}

    def thread_count(
        self,
        contenders: Sequence[Contender],
        threads: int,
        sizes: Sequence[int],
        keep: Callable[[Outcome, Sequence[Cell]], None] | None,
    ) -> None:
        cells = {size: [Cell(c, self.bench, threads, size) for c in contenders] for size in sizes}
        self.outcome.cells += [cell for some in cells.values() for cell in some]
        for start in range(self.limits.starts):
            self.failures = {}
            with self._crew(threads, max(sizes)) as crew:
                for size in sizes:
                    self._give_up(cells[size])
                    self._rounds(crew, cells[size])
                    for cell in cells[size]:
                        cell.end_start()
                        self.progress.done()
                    if keep and start + 1 == self.limits.starts:
                        keep(self.outcome, cells[size])

    @contextlib.contextmanager
    def _crew(self, threads: int, size: int) -> Iterator[Crew]:
        crew = Crew(threads, max(size, RATE_REGION), self.outcome.started)
        patience = GRACE  # after an interrupt
        try:
            yield crew
            patience = END_LIMIT
        finally:
            crew.close(patience)

    def _give_up(self, cells: list[Cell]) -> None:
        for cell in cells:
            before = self.failures.get(cell.contender.key, [])
            if cell.status == "ok" and len(before) >= FAILURES_TO_GIVE_UP:
                cell.status = "skipped"
                cell.reason = "not tried, after: " + before[-1]

    def _rounds(self, crew: Crew, cells: list[Cell]) -> None:
        limits = self.limits.of_a_start()
        for index in range(limits.rounds):
            active = [c for c in cells if not c.exhausted(limits)]
            if all(c.precise(limits) for c in active):
                return
            self.order.shuffle(active)
            for cell in active:
                self._measure(crew, cell, index)

    def _measure(self, crew: Crew, cell: Cell, index: int) -> None:
        library, op = cell.contender.key
        where = f"{cell.threads} threads, {cell.size} B, round {index + 1}"
        self.progress.at(f"{where}: {library} {op}")
        start = time.monotonic()
        try:
            worker = crew.worker(cell.contender.found)
            start = time.monotonic()  # starting it is not the cell's cost
            hello = worker.hello[0]
            cell.version, cell.transport = hello["version"], hello["transport"]
            cell.endpoints = cell.contender.found.endpoints or hello["endpoints"]
            cell.startup, cell.memory = worker.startup, worker.memory or None
            block = getattr(worker, self.bench)
            cell.rounds.append(block(op, cell.size, *self.limits.block(cell.size), self.limits.timeout))
            self.failures.pop(cell.contender.key, None)
        except WorkerError as failure:
            crew.drop(library)
            cell.status, cell.reason = failure.status, failure.reason
            self.failures.setdefault(cell.contender.key, []).append(failure.reason)
        cell.used += time.monotonic() - start

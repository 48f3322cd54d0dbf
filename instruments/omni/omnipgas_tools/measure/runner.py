# SPDX-License-Identifier: BSD-3-Clause
"""Measures several libraries in interleaved rounds of each thread count and size; see rounds.py.

A contender is a library with one of its operations at a thread count and size: a cell. A library has one job for all of
them at a thread count, and another one for each start and after each failure.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from omnipgas_tools.libraries.catalog import Found
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.jobs import Jobs, how_started
from omnipgas_tools.measure.rounds import Arrange, Crew, Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.measure.worker import Round, Worker

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
        return not self.found.library.sweep or (self.found.endpoints or 0) <= threads

    @property
    def key(self) -> tuple[str, str]:
        """The library and the operation."""
        return self.library, self.op

    @property
    def baseline(self) -> tuple[str, str]:
        """The key of what it is compared with: a baseline has no messages."""
        return self.found.baseline, self.op if self.op.startswith("put") else "put"


# All libraries: where a job's memory lies differs with each start, and costs or saves up to half of 4 MiB. Of what
# differs so, the true median lies outside the values of 3 starts once in 4 runs, of 6 once in 32.
FULL = Limits(rounds=24, min_rounds=12, starts=6)
QUICK = Limits(rounds=5, min_rounds=3, seconds=0.01, cell_seconds=1.0, timeout=8.0)
QUICK_SIZES = (4, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)  # bytes


@dataclass
class Cell(Entry[Round]):
    """All rounds of one contender at one thread count and size."""

    contender: Contender
    bench: str
    threads: int
    size: int
    version: str = ""
    transport: str = ""
    endpoints: int | None = None
    startup: float | None = None  # seconds until its worker was ready, and
    memory: int | None = None  # bytes of one of its ranks then

    @property
    def job(self) -> str:
        """That of its library."""
        return self.contender.library

    @property
    def kind(self) -> tuple[str, str]:
        """Its library and operation."""
        return self.contender.key

    def values(self) -> list[float]:
        """The figure that is compared, one per round: slowest thread's latency, or the rate."""
        return [r.slowest_us if self.bench == "pingpong" else r.rate for r in self.rounds]

    def interval(self) -> stats.Interval:
        """Their median, and how well it is known."""
        values = self.values()
        borders = [0, *self.ends, len(values)]
        return stats.clustered_interval([values[first:end] for first, end in pairwise(borders)])


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
    limits, progress = limits or Limits(), progress or Progress()
    outcome, arrange = Outcome(), shuffled(seed)
    todo = {count: [size for size in sizes if (count, size) not in done] for count in threads}
    fit = {count: [one for one in contenders if one.fits(count)] for count in threads}
    progress.plan(limits.starts * sum(len(fit[count]) * len(todo[count]) for count in threads))
    try:
        for count in threads:
            cells = [[Cell(one, bench, count, size) for one in fit[count]] for size in todo[count]]
            outcome.cells += [cell for some in cells for cell in some]
            if cells and fit[count]:
                _measure(outcome, cells, limits, arrange, progress, keep)
    except KeyboardInterrupt:
        outcome.interrupted = True
    outcome.cells = outcome.complete()
    return outcome


def _measure(
    outcome: Outcome,
    sizes: Sequence[Sequence[Cell]],
    limits: Limits,
    arrange: Arrange,
    progress: Progress,
    keep: Callable[[Outcome, Sequence[Cell]], None] | None,
) -> None:
    """The cells of one thread count, by size."""
    largest = max(RATE_REGION, *(cells[0].size for cells in sizes))
    for start in range(limits.starts):
        with Crew(partial(_start, outcome.started, largest), partial(_block, limits), _prepare) as crew:
            for cells in sizes:
                Rounds(cells, crew.turn, limits.of_a_start(), arrange, progress, _where).run()
                for _ in cells:
                    progress.done()
                if keep and start + 1 == limits.starts:
                    keep(outcome, cells)


def _where(cell: Cell, index: int) -> str:
    library, op = cell.contender.key
    return f"{cell.threads} threads, {cell.size} B, round {index + 1}: {library} {op}"


def _start(started: dict[str, dict[str, Any]], largest: int, cell: Cell) -> Worker | Jobs:
    found = cell.contender.found
    worker = (Jobs if found.processes else Worker)(found, cell.threads, largest)
    started[f"{found.name}, {cell.threads} threads"] = how_started(worker)
    return worker


def _prepare(worker: Worker | Jobs, cell: Cell) -> None:
    hello = worker.hello[0]
    cell.version, cell.transport = hello["version"], hello["transport"]
    cell.endpoints = cell.contender.found.endpoints or hello["endpoints"]
    cell.startup, cell.memory = worker.startup, worker.memory or None


def _block(limits: Limits, worker: Worker | Jobs, cell: Cell, _index: int) -> Round:
    block: Callable[..., Round] = getattr(worker, cell.bench)
    return block(cell.contender.op, cell.size, *limits.block(cell.size), limits.timeout)

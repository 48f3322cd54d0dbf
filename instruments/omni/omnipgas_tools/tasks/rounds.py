# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of Task Bench (measure/rounds.py): each contender runs each size of tasks once in a round, in shuffled
order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from omnipgas_tools.measure.rounds import OK, Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.tasks import bounds
from omnipgas_tools.tasks.bounds import Bounds, Point
from omnipgas_tools.tasks.plan import Contender, Work
from omnipgas_tools.tasks.runs import Run, run

PEAK = "trivial"  # a pattern without dependences


@dataclass
class Runs(Entry[Run]):
    """Those of one contender and size of tasks."""

    contender: Contender
    work: Work
    iterations: int
    peak: bool = False  # is no part of the contender's curve


@dataclass
class Curve:
    """A contender at work, all sizes of tasks; the least work first."""

    contender: Contender
    work: Work
    sizes: list[Runs]
    peaks: list[float] = field(default_factory=list)  # of each round, of all contenders: the most operations a second

    @property
    def status(self) -> str:
        """That of the first size which failed."""
        return next((one.status for one in self.sizes if one.status != OK), OK)

    @property
    def reason(self) -> str:
        """Why it failed."""
        return next((one.reason for one in self.sizes if one.status != OK), "")

    @property
    def rounds(self) -> int:
        """That are whole."""
        return min(len(one.rounds) for one in self.sizes)

    def points(self, number: int) -> list[Point]:
        """Of one round, against that round's peak."""
        runs = [one.rounds[number] for one in self.sizes]
        return [Point(one.granularity(self.work.cores), one.rate / self.peaks[number]) for one in runs]

    def best(self) -> list[Point]:
        """Of the fastest run of each size, against the peak of all rounds."""
        runs = [min(one.rounds, key=lambda run: run.seconds / run.tasks) for one in self.sizes]
        return [Point(one.granularity(self.work.cores), one.rate / max(self.peaks)) for one in runs]

    def metg(self, wanted: float) -> list[Bounds]:
        """In microseconds, of each round."""
        return [bounds.smallest_efficient(self.points(number), wanted) for number in range(self.rounds)]


@dataclass(frozen=True)
class Plan:
    """How much is run."""

    iterations: Sequence[int]  # of the kernel in a task, the least first
    seconds: float  # of a run, about
    limits: Limits
    seed: int = 0


def measure(contenders: Sequence[Contender], work: Work, plan: Plan, progress: Progress) -> tuple[list[Curve], bool]:
    """One curve for each contender, and whether Ctrl-C ended it; then with the rounds that are whole."""
    entries = [Runs(one, work, count) for one in contenders for count in plan.iterations]
    peak = Runs(contenders[0], Work(PEAK, work.cores, work.size, 0.0, work.per_core), plan.iterations[-1], peak=True)
    entries.append(peak)

    def block(entry: Runs, _index: int) -> Run | None:
        arguments = entry.work.arguments(entry.iterations, plan.seconds)
        try:
            return run(entry.contender, arguments, plan.limits.timeout)
        except WorkerError as failure:
            for other in entries:  # what fails at one size is not tried at others
                if other.contender is entry.contender and other.peak == entry.peak:
                    other.fail(failure.status, failure.reason)
            return None
        finally:
            progress.done()

    def where(entry: Runs, index: int) -> str:
        return f"{work.text()}, round {index + 1}: {entry.contender.key}, {entry.iterations} iterations"

    interrupted = False
    try:
        Rounds(entries, block, plan.limits, shuffled(plan.seed), progress, where).run()
    except KeyboardInterrupt:
        interrupted = True
    return list(_curves(entries, work)), interrupted


def _curves(entries: Sequence[Runs], work: Work) -> Iterator[Curve]:
    """With the peak of each round."""
    most = max(len(one.rounds) for one in entries)
    peaks = [max(one.rounds[n].rate for one in entries if len(one.rounds) > n) for n in range(most)]
    for _, mine in groupby((one for one in entries if not one.peak), key=lambda one: id(one.contender)):
        sizes = list(mine)
        yield Curve(sizes[0].contender, work, sizes, peaks)

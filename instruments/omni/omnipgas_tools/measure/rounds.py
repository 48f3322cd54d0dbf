# SPDX-License-Identifier: BSD-3-Clause
"""The measuring engine: contenders take turns in interleaved rounds (A B, B A, ...), each in a job of ranks.

The machine drifts; contenders are comparable only within a round. The words:

- A *contender* is what is compared with others: a library at a size, a strategy, the jobs of a series. It is an Entry,
  which holds what its rounds found and whether it still takes part.
- A *block* is one short measurement of one contender. It returns what it found, or nothing.
- A *round* takes one block of each contender, in shuffled order. `Rounds` runs them.
- A *job* is the running ranks that a block is asked of; contenders may share one. A `Crew` has the jobs: it starts each
  on first use and prepares each contender in it once, which counts as nobody's cost.
- A *start* is the life of a crew. Where the memory of a job lies differs with each start, so the rounds may be divided
  among several: a crew and `Limits.of_a_start()` for each.

End of the rounds: there are no more than `Limits.rounds`, and after `min_rounds` they end once the medians of all
contenders are precise. A contender that has cost more than `cell_seconds` leaves; with `together` all take part in as
many rounds, and end once they have cost that much on average. An entry without values() takes part in all rounds.

Failures: a WorkerError ends the part of the contender whose turn it was, and the others go on. Its job is ended, and
started again for whoever needs it next, unless the status is `skipped`: the contender was refused, the job is sound.
Contenders of one kind that fail twice, in a row or in all, are not tried again in this crew. Without a crew, the error
of a block goes to the caller.

Keeping: an entry may come with rounds of an earlier run; it takes part from the next one on. Ctrl-C goes to the caller:
what the blocks before it found is kept, and a crew gives its jobs little time to end.

Threads: all of it belongs to the thread that calls it. A block may use threads that end before it returns.
"""

import contextlib
import math
import random
import subprocess
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

from omnipgas_tools.measure import stats
from omnipgas_tools.measure.jobs import Jobs
from omnipgas_tools.measure.worker import END_LIMIT, GRACE, Worker, WorkerError

OK, SKIPPED = "ok", "skipped"  # statuses beside those of a WorkerError
FAILURES_TO_GIVE_UP = 2  # of contenders of one kind


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

    def fitting(self, expected: float, fewest: int) -> int:
        """Iterations of one block, at least so many, of which each takes about `expected` seconds."""
        return min(self.iterations, max(fewest, int(self.seconds / expected)))

    def of_a_start(self) -> Self:
        """What each start has of them."""
        rounds, fewest = (math.ceil(count / self.starts) for count in (self.rounds, self.min_rounds))
        return replace(self, rounds=rounds, min_rounds=fewest, cell_seconds=self.cell_seconds / self.starts)


class Progress:
    """What a caller may want to see; does nothing by itself."""

    def plan(self, parts: int) -> None:
        """So many parts will be measured."""

    def at(self, what: str) -> None:
        """This is being done now."""

    def done(self) -> None:
        """One of them is finished."""


R = TypeVar("R")


@dataclass(kw_only=True)
class Entry(Generic[R]):
    """A contender and what its rounds found."""

    rounds: list[R] = field(default_factory=list)
    status: str = OK
    reason: str = ""
    ends: list[int] = field(default_factory=list)  # of each finished start of the jobs: how many rounds there were
    used: float = 0.0  # seconds spent in this start

    @property
    def job(self) -> str:
        """The name of the job that it is measured in."""
        return ""

    @property
    def kind(self) -> Hashable:
        """What is given up together after failures."""
        return id(self)

    def values(self) -> list[float]:
        """The figure that is compared, one per round; none if the rounds never end early."""
        return []

    def fail(self, status: str, reason: str) -> None:
        """It takes no part any more."""
        self.status, self.reason = status, reason

    def count(self) -> int:
        """Rounds of this start."""
        return len(self.rounds) - self._before()

    def recent(self) -> list[float]:
        """The values of this start."""
        return self.values()[self._before() :]

    def _before(self) -> int:
        return self.ends[-1] if self.ends else 0

    def end_start(self) -> None:
        """The jobs will be started anew."""
        self.ends.append(len(self.rounds))
        self.used = 0.0

    def spent(self, limits: Limits) -> bool:
        """Whether it has cost enough."""
        return len(self.recent()) >= limits.min_rounds and self.used > limits.cell_seconds

    def precise(self, limits: Limits) -> bool:
        """Whether the median of this start is known well enough."""
        recent = self.recent()
        return len(recent) >= limits.min_rounds and stats.median_interval(recent).relative_width < limits.tolerance


C = TypeVar("C", bound=Entry[Any])
Arrange = Callable[[int, list[Any]], None]  # puts those who take part in a round, told its index, into their order


def shuffled(seed: int) -> Arrange:
    """Another order in each round."""
    order = random.Random(seed)
    return lambda _, turns: order.shuffle(turns)


@dataclass
class Rounds(Generic[C, R]):
    """Rounds of contenders; see above."""

    contenders: Sequence[C]
    block: Callable[[C, int], R | None]  # of a contender, in the round of that index
    limits: Limits
    arrange: Arrange
    progress: Progress = field(default_factory=Progress)
    where: Callable[[C, int], str] | None = None  # what is said before a block
    together: bool = False  # all contenders have the same number of rounds

    def run(self, after: Callable[[], None] | None = None) -> None:
        """All rounds of a start; `after` is called behind each."""
        for index in range(self.limits.rounds):
            turns = [one for one in self.contenders if one.status == OK]
            if not self.together:
                turns = [one for one in turns if not one.spent(self.limits)]
            if self._enough(turns):
                break
            self.arrange(index, turns)
            for one in turns:
                self._turn(one, index)
            if after:
                after()
        for one in self.contenders:
            one.end_start()

    def _enough(self, turns: Sequence[C]) -> bool:
        """Whether the medians are known well enough, or have cost enough."""
        if all(one.precise(self.limits) for one in turns):
            return True
        fewest = min(len(one.recent()) for one in turns)
        used = sum(one.used for one in turns)
        return self.together and fewest >= self.limits.min_rounds and used > self.limits.cell_seconds * len(turns)

    def _turn(self, one: C, index: int) -> None:
        if one.status != OK or one.count() > index:  # failed since the round began, or kept from an earlier run
            return
        if self.where:
            self.progress.at(self.where(one, index))
        found = self.block(one, index)
        if found is not None:
            one.rounds.append(found)


J = TypeVar("J", bound=Worker | Jobs)


class Crew(Generic[C, J, R]):
    """The jobs of one start; a context manager that ends them. All but the one in use are stopped: threads that a
    library keeps busy beside its user's would take the cores from the others. If this process is killed they go on,
    and end since nobody listens."""

    GUARD = 'while read -r pid; do all="$all $pid"; done; kill -CONT $all'  # once no more can come

    def __init__(
        self,
        start: Callable[[C], J],
        block: Callable[[J, C, int], R | None],
        prepare: Callable[[J, C], None] | None = None,
        in_a_row: bool = True,
    ) -> None:
        """How the job of a contender is started, what of it a block is, and what comes before the contender's first
        block in that job; each may raise WorkerError. Contenders of one kind are given up after failures in a row, or
        in all."""
        self._start, self._block, self._prepare, self._in_a_row = start, block, prepare, in_a_row
        self._jobs: dict[str, J] = {}
        self._used = ""
        self._ready: dict[int, J] = {}  # by the contender's identity: the job that it was prepared in
        self._failures: dict[Hashable, list[str]] = {}  # by kind: their reasons
        self._guard = subprocess.Popen(
            ["sh", "-c", self.GUARD],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        limit = GRACE if error else END_LIMIT
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._guard)
            for worker in (worker for job in self._jobs.values() for worker in job.workers):
                worker.go_on()
                worker.ask_to_end()
                stack.callback(worker.close, limit)

    def turn(self, one: C, index: int) -> R | None:
        """A block for Rounds; ends the contender's part if it fails."""
        before = self._failures.get(one.kind, [])
        if len(before) >= FAILURES_TO_GIVE_UP:
            one.fail(SKIPPED, "not tried, after: " + before[-1])
            return None
        found = None
        with self._ends_its_part(one):
            job = self.job(one)
            begin = time.monotonic()  # starting it is not the contender's cost
            found = self._block(job, one, index)
            one.used += time.monotonic() - begin
            if self._in_a_row:
                self._failures.pop(one.kind, None)
        return found

    def prepare(self, contenders: Sequence[C]) -> None:
        """All of them before the first round, where it shall hold nothing but blocks."""
        for one in contenders:
            if one.status == OK:
                with self._ends_its_part(one):
                    self.job(one)

    @contextlib.contextmanager
    def _ends_its_part(self, one: C) -> Iterator[None]:
        try:
            yield
        except WorkerError as failure:
            one.fail(failure.status, failure.reason)
            if failure.status != SKIPPED:
                self._failures.setdefault(one.kind, []).append(failure.reason)
                self._drop(one.job)

    def job(self, one: C) -> J:
        """The contender's job, running and ready for it."""
        name = one.job
        if name != self._used:
            for worker in self._workers(self._used):
                worker.stop()
            for worker in self._workers(name):
                worker.go_on()
            self._used = name
        if name not in self._jobs:
            self._jobs[name] = self._start(one)
            pids = [pid for worker in self._workers(name) for pid in worker.pids]
            print(*pids, sep="\n", file=self._guard.stdin, flush=True)
        job = self._jobs[name]
        if self._prepare and self._ready.get(id(one)) is not job:
            self._prepare(job, one)
            self._ready[id(one)] = job
        return job

    def _workers(self, name: str) -> list[Worker]:
        """Of a job; none if it is not there."""
        return self._jobs[name].workers if name in self._jobs else []

    def _drop(self, name: str) -> None:
        """Ends a job that failed, if it was started."""
        for worker in self._workers(name):
            worker.close(GRACE)
        self._jobs.pop(name, None)

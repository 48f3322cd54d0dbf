# SPDX-License-Identifier: BSD-3-Clause
"""Measures the round trips from which parameters are fitted: every length with and without computation, in shuffled
order within each round, so that the machine's drift hits all alike; the worker is started anew several times."""

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from omnipgas_tools.libraries.catalog import Found
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.measure.worker import Message, Worker
from omnipgas_tools.model.fit import breakpoints
from omnipgas_tools.model.fit.measurements import DataError, Measurements

FIRST, MOST, LEAST = 4, 2000, 3  # round trips of a block: before anything is known, at most, at least
AGREE = 3  # blocks that must say the same of whether sends of a length wait: either rank may lose its core for a while
SENDS = 9  # of each
SEARCHES = 5  # for S, until it is confirmed
STARTS = 3  # of the ranks, until a search succeeds: where they were put stays bad or good
FRESH = 12  # rounds of the ping-pong that models are held against
PILOT = 3  # rounds before the lengths are chosen
HIDES = 3.0  # computation, as a multiple of the round trip; and seconds more:
SHORTEST = 2e-6  # so little that a receiver that waits for it does not fall asleep
LONG = 3e-5  # far longer than a send that does not wait
MESSAGES = 8  # of a burst
BURST_LENGTHS = (1, 64, 1024)
AROUND = (0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.4)
SEVERAL = (64, 8192, 1 << 20)  # computations as long as the round trips of these lengths,
SEVERAL_STEP = 3  # measured at every so manyth length, in every so manyth round


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    smallest: int = 1  # bytes
    largest: int = 4 << 20
    per_octave: float = 3  # lengths,
    around: tuple[float, ...] = AROUND  # and so many times s and S
    rounds: int = 30
    launches: int = 3
    seconds: float = 0.002  # of a block
    timeout: float = 30.0  # of a block, until the worker counts as hung
    seed: int = 1

    def lengths(self) -> list[int]:
        """The grid."""
        steps = int(np.floor(np.log2(self.largest / self.smallest) * self.per_octave))
        grid = {round(self.smallest * 2 ** (i / self.per_octave)) for i in range(steps + 1)}
        return sorted(grid | {self.largest})


@dataclass
class Outcome:
    """The measurements, and what the worker said of itself."""

    measurements: Measurements
    hello: Message
    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)


def measure(found: Found, operation: str, plan: Plan, progress: Progress) -> Outcome:
    """One operation of a library; raises WorkerError, DataError."""
    for start in range(1, STARTS + 1):
        campaign = _Campaign(found, operation, plan, progress)
        with campaign.worker() as worker:
            try:
                campaign.explore(worker)
            except DataError:
                if start == STARTS:
                    raise
                continue
            hello, command, environment = worker.hello[0], worker.command_line, worker.environment
            break
    campaign.rounds()
    return Outcome(campaign.measurements(), hello, command, environment)


class _Campaign:
    def __init__(self, found: Found, operation: str, plan: Plan, progress: Progress) -> None:
        self.found, self.operation, self.plan, self.progress = found, operation, plan, progress
        self.two_sided = operation == "send"
        self.lengths = [0] if operation == "word" else plan.lengths()
        self.order = random.Random(plan.seed)
        self.expected: dict[int, float] = {}  # seconds of a round trip
        self.eager_up_to: int | None = None
        self.unmatched_up_to: int | None = None
        self.waiting: dict[int, bool] = {}
        self.table: dict[str, list[dict[int, float]]] = {n: [] for n in ("base", "hidden", "send", "receive")}
        self.several: dict[float, dict[int, list[float]]] = {}
        self.bursts: dict[int, dict[str, list[float]]] = {}
        self.fresh: dict[str, list[float]] = {}

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        with Worker(self.found, 1, max(self.lengths[-1], 4)) as worker:
            yield worker

    def say(self, what: str) -> None:
        """This is being done now."""
        self.progress.at(f"{self.found.name} {self.operation}: {what}")

    # ---- before the rounds

    def explore(self, worker: Worker) -> None:
        """How long a round trip takes; where sends begin to wait; which lengths deserve neighbours."""
        pilot: dict[int, list[float]] = {k: [] for k in self.lengths}
        for _ in range(PILOT):
            for k in self.lengths:
                pilot[k].append(self.base(worker, k))
                self.expected[k] = min(pilot[k]) / 1e9
        self.say("where sends begin to wait")
        if self.two_sided:
            self.eager_up_to = self.find_S(worker, 0, polls=False)
            if self.eager_up_to is not None:
                self.unmatched_up_to = self.find_S(worker, self.eager_up_to, polls=True)
        if len(self.lengths) == 1:
            return
        S = self.eager_up_to or self.lengths[-1]
        short = [one for one in self.lengths if one <= S]
        bend = None
        if len(short) >= 2 * breakpoints.LEAST_POINTS:
            medians = np.array([np.median(pilot[one]) for one in short])
            bend = breakpoints.find_bend(np.array(short, dtype=float), medians).at
        further = {round(at * part) for at in (bend, self.eager_up_to) if at for part in self.plan.around}
        if self.eager_up_to:
            further |= {self.eager_up_to, self.eager_up_to + 1}
        further = {one for one in further if self.plan.smallest <= one <= self.plan.largest}
        self.lengths = sorted(further.union(self.lengths))
        for one in self.lengths:
            self.expected.setdefault(one, self.base(worker, one) / 1e9)
        for one in SEVERAL:
            near = min(self.lengths, key=lambda k: abs(k - one))
            self.several[float(f"{self.expected[near] * 1e9:.2g}")] = {}

    def find_S(self, worker: Worker, low: int, polls: bool) -> int | None:
        """The longest message whose send does not wait, to the byte; those up to `low` do not. None: none waits."""
        for _ in range(SEARCHES):
            found = self.search(worker, low, polls)
            if found is None or (not self.waits(worker, found, polls) and self.waits(worker, found + 1, polls)):
                return found
        raise DataError("it cannot be told where sends begin to wait: leave the machine's cores to the measurement")

    def search(self, worker: Worker, low: int, polls: bool) -> int | None:
        """The same by halves, each step believed."""
        ends = [k for i, k in enumerate(self.lengths) if i % self.plan.per_octave == 0 or k == self.lengths[-1]]
        for high in (k for k in ends if k > low):
            if self.waits(worker, high, polls):
                break
            low = high
        else:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self.waits(worker, middle, polls):
                high = middle
            else:
                low = middle
        return low

    def waits(self, worker: Worker, k: int, polls: bool) -> bool:
        """Whether rank 1's send lasts until rank 0 ends its computation and receives."""
        if k not in self.expected:
            self.expected[k] = self.base(worker, k) / 1e9
        work = HIDES * self.expected[k] + LONG
        said = {True: 0, False: 0}
        while max(said.values()) < AGREE:
            report = worker.roundtrip(self.operation, k, SENDS, work, self.plan.timeout, timed=True, polls=polls)[1]
            said[report["waited"] > SENDS / 2] += 1
        waited = said[True] == AGREE
        if not polls:
            self.waiting[k] = waited
        return waited

    # ---- the rounds

    def rounds(self) -> None:
        """All of them, the worker started anew for each part, and behind each part again for fresh round trips: starts
        and hours differ by more than models err."""
        parts = np.array_split(np.arange(self.plan.rounds), self.plan.launches)
        for part in parts:
            with self.worker() as worker:
                for number in part:
                    self.say(f"round {number + 1} of {self.plan.rounds}")
                    self.round(worker, int(number))
                    self.progress.done()
            self.check_afresh()

    def round(self, worker: Worker, number: int) -> None:
        """Each length once, in shuffled order."""
        for values in self.table.values():
            values.append({})
        jobs: list[Callable[[], None]] = []
        for k in self.lengths:
            jobs.append(lambda k=k: self.table["base"][-1].update({k: self.base(worker, k)}))  # type: ignore[misc]
            jobs.append(lambda k=k: self.behind_computation(worker, k))  # type: ignore[misc]
        if number % SEVERAL_STEP == 0:
            jobs += [
                lambda k=k, work=work: self.with_work(worker, k, work)  # type: ignore[misc]
                for work in self.several
                for k in self.lengths[::SEVERAL_STEP]
            ]
        if self.two_sided or self.operation == "put":
            limit = self.eager_up_to or self.lengths[-1]
            jobs += [
                lambda k=k: self.burst(worker, k)  # type: ignore[misc]
                for k in BURST_LENGTHS
                if self.plan.smallest <= k <= limit
            ]
        self.order.shuffle(jobs)
        for job in jobs:
            job()

    def check_afresh(self) -> None:
        """Round trips of lengths that nothing is fitted to, by ranks that are started for it: what a model is worth."""
        if len(self.lengths) == 1:
            return
        self.say("a ping-pong afresh")
        pairs = zip(self.lengths, self.lengths[1:], strict=False)
        between = sorted({round((low * high) ** 0.5) for low, high in pairs} - set(self.lengths))
        with self.worker() as worker:
            for k in between:
                self.expected[k] = self.base(worker, k) / 1e9
            for _ in range(math.ceil(FRESH / self.plan.launches)):
                for k in self.order.sample(between, len(between)):
                    self.fresh.setdefault(str(k), []).append(self.base(worker, k))

    def computation(self, k: int) -> float:
        """Seconds that are longer than the wire needs, at any protocol."""
        return HIDES * self.expected[k] + SHORTEST

    def count(self, seconds: float) -> int:
        """Round trips of a block, each taking so long."""
        return min(MOST, max(LEAST, int(self.plan.seconds / seconds)))

    def base(self, worker: Worker, k: int) -> float:
        count = self.count(self.expected[k]) if k in self.expected else FIRST
        report = worker.roundtrip(self.operation, k, count, 0, self.plan.timeout)[0]
        return float(report["seconds"] / count * 1e9)

    def behind_computation(self, worker: Worker, k: int) -> None:
        count = self.count(self.computation(k) + self.expected[k])
        report = worker.roundtrip(self.operation, k, count, self.computation(k), self.plan.timeout)[0]
        clock = report["clock"] * count
        rest = report["seconds"] - report["work"] - 2 * clock
        parts = {"hidden": rest, "send": report["send"] - clock, "receive": report["receive"] - clock}
        for name, seconds in parts.items():
            self.table[name][-1][k] = max(0.1, seconds / count * 1e9)

    def with_work(self, worker: Worker, k: int, work: float) -> None:
        count = self.count(work / 1e9 + self.expected[k])
        report = worker.roundtrip(self.operation, k, count, work / 1e9, self.plan.timeout)[0]
        seconds = report["seconds"] - 2 * report["clock"] * count - report["work"]
        self.several[work].setdefault(k, []).append(seconds / count * 1e9 + work)

    def burst(self, worker: Worker, k: int) -> None:
        count = self.count(self.expected[k] * MESSAGES)
        report = worker.burst(self.operation, k, count, MESSAGES, self.plan.timeout)[0]
        block = self.bursts.setdefault(k, {"first": [], "later": []})
        block["first"].append((report["send"] / count - report["clock"]) * 1e9)
        block["later"].append((report["later"] / count - report["clock"]) / (MESSAGES - 1) * 1e9)

    def measurements(self) -> Measurements:
        """As tables; raises DataError."""
        tables = {name: [[one[k] for k in self.lengths] for one in rounds] for name, rounds in self.table.items()}
        if not self.lengths:
            raise DataError("no lengths")
        return Measurements(
            operation=self.operation,
            lengths=self.lengths,
            computation=[self.computation(k) * 1e9 for k in self.lengths],
            several={f"{w:.0f}": {str(k): v for k, v in by.items()} for w, by in self.several.items() if by},
            bursts={str(k): block for k, block in self.bursts.items()},
            eager_up_to=self.eager_up_to,
            unmatched_up_to=self.unmatched_up_to,
            fresh={str(k): self.fresh[str(k)] for k in sorted(map(int, self.fresh))},
            waiting={str(k): waited for k, waited in sorted(self.waiting.items())},
            **tables,
        ).check()

# SPDX-License-Identifier: BSD-3-Clause
"""Measures strategies of halo exchange in interleaved rounds, all in one job of the ranks (bench/halo).

The contenders are the strategies, a block is some exchanges (measure/rounds.py). What counts is the mean time of an
exchange on the slowest rank. All strategies are created and checked before the first round, and again in another job
after a failure. All have the same rounds, so that ratios are those of one round.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from omnipgas_tools.halo.pattern import Pattern
from omnipgas_tools.libraries.catalog import Found
from omnipgas_tools.measure import network, results, stats
from omnipgas_tools.measure.jobs import how_started
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import OK, SKIPPED, Crew, Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.measure.worker import Worker, WorkerError

BY_MPI = ("mpi", "mpi-persistent", "mpi-neighbor", "mpi-put")
STRATEGIES = ("double-buffer", "single", "acked", *BY_MPI)
AUTO = "auto"  # takes the fastest of them

CONDUITS = ("shm", "tcp", "ofi", "ucx", "mpi")

CHECKED = 4  # exchanges: each slot twice
PILOT, PILOT_OF_AUTO = 4, 100  # exchanges; auto has made its choice after some more than 12 for each strategy
FEWEST = 4  # exchanges of a block


@dataclass
class Timing(Entry[float]):
    """All rounds of one strategy: microseconds of an exchange, on the slowest rank."""

    strategy: str
    carried_by: str = ""  # the strategy; what auto chose
    version: str = ""
    transport: str = ""
    expected: float = 0.0  # seconds of an exchange, the latest

    def values(self) -> list[float]:
        """All rounds."""
        return self.rounds


@dataclass
class Outcome:
    """Everything that was measured."""

    found: Found
    pattern: Pattern
    timings: list[Timing]
    started: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False

    def active(self) -> list[Timing]:
        """Those that have not failed."""
        return [timing for timing in self.timings if timing.status == OK]

    def rounds(self, strategy: str) -> list[float]:
        """Of a strategy; none if it failed."""
        return next((timing.rounds for timing in self.active() if timing.strategy == strategy), [])


def over(found: Found, conduit: str) -> Found:
    """The job with that conduit under the strategies without MPI."""
    return replace(found, library=network.told(found.library, {"OMPL_CONDUITS": f"self,{conduit}"}, "--conduit"))


def measure(
    found: Found, pattern: Pattern, strategies: Sequence[str], limits: Limits, seed: int, progress: Progress
) -> Outcome:
    """Ctrl-C ends it early with what was measured so far."""
    outcome = Outcome(found, pattern, [Timing(one) for one in strategies])
    job = _Job(outcome, limits, progress)
    progress.plan(limits.rounds)
    try:
        with Crew(job.start, job.measure, job.prepare) as crew:
            crew.prepare(outcome.timings)
            turns = Rounds(outcome.timings, crew.turn, limits, shuffled(seed), progress, _where, together=True)
            turns.run(progress.done)
    except KeyboardInterrupt:
        outcome.interrupted = True
    for timing in outcome.active():
        if not timing.rounds:
            timing.fail(SKIPPED, "interrupted before its first round")
    return outcome


def _where(timing: Timing, index: int) -> str:
    return f"round {index + 1}: {timing.strategy}"


@dataclass
class _Job:
    """What is asked of the ranks."""

    outcome: Outcome
    limits: Limits
    progress: Progress

    def start(self, _: Timing) -> Worker:
        """Ranks that do not start are an error of all strategies."""
        found = self.outcome.found
        try:
            worker = Worker(found, 1, self.outcome.pattern.sizes[1])
        except WorkerError as failure:
            for timing in self.outcome.active():
                timing.fail(failure.status, failure.reason)
            raise
        self.outcome.started.setdefault(found.name, how_started(worker))
        return worker

    def prepare(self, worker: Worker, timing: Timing) -> None:
        """Its halo, a check of what lands where, and how long an exchange takes."""
        limit = self.limits.timeout
        self.progress.at(f"checking {timing.strategy}")
        timing.version, timing.transport = (worker.hello[0][key] for key in ("version", "transport"))
        neighbors = [{"neighbors": mine} for mine in self.outcome.pattern.neighbors]
        made = worker.all_ranks("create", timing.strategy, limit, more=neighbors)
        if refusal := next((one["refused"] for one in made if one["refused"]), ""):
            raise WorkerError(SKIPPED, refusal)
        if timing.strategy == AUTO:
            self.block(worker, timing, PILOT_OF_AUTO)
        checked = worker.all_ranks("verify", timing.strategy, limit, CHECKED)
        if any(one["exchanges"] != CHECKED for one in checked):
            raise WorkerError("corrupt", f"{timing.strategy}: not all exchanges were checked")
        self.block(worker, timing, PILOT)

    def measure(self, worker: Worker, timing: Timing, _index: int) -> float:
        """Its block of a round."""
        return self.block(worker, timing, self.limits.fitting(timing.expected, FEWEST)) * 1e6

    def block(self, worker: Worker, timing: Timing, count: int) -> float:
        """Seconds of an exchange, the mean of so many."""
        reports = worker.all_ranks("exchange", timing.strategy, self.limits.timeout, count)
        found = re.search(r"^\* (\S+)", reports[0]["uses"], re.MULTILINE)
        timing.carried_by = found[1] if found else ""
        timing.expected = float(max(one["seconds"] for one in reports) / count)
        return timing.expected


def rows(outcome: Outcome, base: str) -> list[Result]:
    """Of the result file, each strategy beside the base."""
    pattern = outcome.pattern
    smallest, largest = pattern.sizes
    made = []
    for timing in outcome.timings:
        measured = timing.status == OK
        halo = {
            "neighbors": pattern.most_neighbors,
            "smallest": smallest,
            "sent": pattern.most_sent,
            "carried_by": timing.carried_by or None,
            "exchange_us": stats.median_interval(timing.rounds).to_json() if measured else None,
            "base": base,
            "of_base": None,
        }
        if measured and (other := outcome.rounds(base)):
            halo["of_base"] = stats.paired_ratio(timing.rounds, other, 1).to_json()
        row = results.empty("halo", outcome.found.name, timing.strategy, 1, largest)
        row |= {"version": timing.version or None, "transport": timing.transport or None, "ranks": pattern.ranks}
        made.append(row | {"status": timing.status, "reason": timing.reason or None, "halo": halo})
    return made

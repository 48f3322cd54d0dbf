# SPDX-License-Identifier: BSD-3-Clause
"""Measures strategies of halo exchange in interleaved rounds, all in one job of the ranks (bench/halo).

A round takes each strategy once, in shuffled order, for a short block of exchanges. What counts is the mean time of an
exchange on the slowest rank. A strategy that hangs, crashes or lands wrong bytes ends the job; the others go on in a
new one.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from omnipgas_tools.halo.pattern import Pattern
from omnipgas_tools.libraries.peers import Found, Setting
from omnipgas_tools.measure import results, stats
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.runner import Limits, Progress, how_started
from omnipgas_tools.measure.worker import END_LIMIT, GRACE, Worker, WorkerError

BY_MPI = ("mpi", "mpi-persistent", "mpi-neighbor", "mpi-put")
STRATEGIES = ("double-buffer", "single", "acked", *BY_MPI)
AUTO = "auto"  # takes the fastest of them

CONDUITS = ("shm", "ofi", "ucx", "mpi")

CHECKED = 4  # exchanges: each slot twice
PILOT, PILOT_OF_AUTO = 4, 100  # exchanges; auto has made its choice after some more than 12 for each strategy
FEWEST = 4  # exchanges of a block


@dataclass
class Timing:
    """All rounds of one strategy."""

    strategy: str
    rounds: list[float] = field(default_factory=list)  # microseconds of an exchange, on the slowest rank
    status: str = "ok"
    reason: str = ""
    carried_by: str = ""  # the strategy; what auto chose
    version: str = ""
    transport: str = ""

    def fail(self, status: str, reason: str) -> None:
        """It takes no part any more."""
        self.status, self.reason = status, reason


@dataclass
class Outcome:
    """Everything that was measured."""

    found: Found
    pattern: Pattern
    timings: list[Timing]
    started: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False

    def rounds(self, strategy: str) -> list[float]:
        """Of a strategy; none if it failed."""
        return next((t.rounds for t in self.timings if t.strategy == strategy and t.status == "ok"), [])


def over(found: Found, conduit: str) -> Found:
    """The job with that conduit under the strategies without MPI."""
    asked = Setting("OMPL_CONDUITS", f"self,{conduit}", "always", "asked for", "--conduit")
    return replace(found, peer=replace(found.peer, settings=[*found.peer.settings, asked]))


def measure(
    found: Found, pattern: Pattern, strategies: Sequence[str], limits: Limits, seed: int, progress: Progress
) -> Outcome:
    """Ctrl-C ends it early with what was measured so far."""
    run = _Run(Outcome(found, pattern, [Timing(one) for one in strategies]), limits, random.Random(seed), progress)
    progress.plan(limits.rounds)
    try:
        run.jobs()
    except KeyboardInterrupt:
        run.outcome.interrupted = True
    for timing in run.active():
        if not timing.rounds:
            timing.fail("skipped", "interrupted before its first round")
    return run.outcome


class _Run:
    def __init__(self, outcome: Outcome, limits: Limits, order: random.Random, progress: Progress) -> None:
        self.outcome, self.limits, self.order, self.progress = outcome, limits, order, progress
        self.index = 0  # of the round
        self.turn: Timing | None = None  # whose it is
        self.expected: dict[str, float] = {}  # seconds of an exchange

    def active(self) -> list[Timing]:
        return [timing for timing in self.outcome.timings if timing.status == "ok"]

    def jobs(self) -> None:
        """A job of the ranks, and another for the rest after each failure."""
        while self.active() and self.index < self.limits.rounds:
            self.turn = None
            try:
                self.job()
                return
            except WorkerError as failure:
                for timing in [self.turn] if self.turn else self.active():
                    timing.fail(failure.status, failure.reason)

    def job(self) -> None:
        worker = Worker(self.outcome.found, 1, self.outcome.pattern.sizes[1])
        patience = GRACE  # after an interrupt
        try:
            self.outcome.started.setdefault(self.outcome.found.name, how_started(worker))
            for timing in self.active():
                self.turn = timing
                self.prepare(worker, timing)
            self.rounds(worker)
            patience = END_LIMIT
        finally:
            worker.close(patience)

    def prepare(self, worker: Worker, timing: Timing) -> None:
        """Its halo, a check of what lands where, and how long an exchange takes."""
        limit = self.limits.timeout
        self.progress.at(f"checking {timing.strategy}")
        timing.version, timing.transport = (worker.hello[0][key] for key in ("version", "transport"))
        made = worker.halo("create", timing.strategy, limit, neighbors=self.outcome.pattern.neighbors)
        if refusal := next((one["refused"] for one in made if one["refused"]), ""):
            timing.fail("skipped", refusal)
            return
        if timing.strategy == AUTO:
            self.block(worker, timing, PILOT_OF_AUTO)
        checked = worker.halo("verify", timing.strategy, limit, CHECKED)
        if any(one["exchanges"] != CHECKED for one in checked):
            raise WorkerError("corrupt", f"{timing.strategy}: not all exchanges were checked")
        self.expected[timing.strategy] = self.block(worker, timing, PILOT)

    def rounds(self, worker: Worker) -> None:
        start = time.monotonic()
        while self.index < self.limits.rounds:
            turns = self.active()
            if not turns or self.enough(turns, time.monotonic() - start):
                return
            self.order.shuffle(turns)
            for timing in turns:
                if len(timing.rounds) == self.index:  # not yet in this round, when the job before ended
                    self.turn = timing
                    self.measure(worker, timing)
            self.index += 1
            self.progress.done()

    def measure(self, worker: Worker, timing: Timing) -> None:
        """Its block of a round."""
        name = timing.strategy
        self.progress.at(f"round {self.index + 1}: {name}")
        count = min(self.limits.iterations, max(FEWEST, int(self.limits.seconds / self.expected[name])))
        self.expected[name] = self.block(worker, timing, count)
        timing.rounds.append(self.expected[name] * 1e6)

    def enough(self, turns: list[Timing], used: float) -> bool:
        """Whether the medians are known well enough, or have cost enough."""
        if self.index < self.limits.min_rounds:
            return False
        widths = (stats.median_interval(timing.rounds).relative_width for timing in turns)
        return used > self.limits.cell_seconds * len(turns) or all(w < self.limits.tolerance for w in widths)

    def block(self, worker: Worker, timing: Timing, count: int) -> float:
        """Seconds of an exchange, the mean of so many."""
        reports = worker.halo("exchange", timing.strategy, self.limits.timeout, count)
        found = re.search(r"^\* (\S+)", reports[0]["uses"], re.MULTILINE)
        timing.carried_by = found[1] if found else ""
        return float(max(one["seconds"] for one in reports) / count)


def rows(outcome: Outcome, base: str) -> list[Result]:
    """Of the result file, each strategy beside the base."""
    pattern = outcome.pattern
    smallest, largest = pattern.sizes
    made = []
    for timing in outcome.timings:
        measured = timing.status == "ok"
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
        made.append(
            row
            | {
                "version": timing.version or None,
                "transport": timing.transport or None,
                "ranks": pattern.ranks,
                "status": timing.status,
                "reason": timing.reason or None,
                "halo": halo,
            }
        )
    return made

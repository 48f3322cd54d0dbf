# SPDX-License-Identifier: BSD-3-Clause
"""Targets of halo exchange behind computation: how much of it is hidden behind the product that needs no halo,
between two hosts over links of limited rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnipgas_tools.halo import overlap as halo_overlap
from omnipgas_tools.halo.overlap import Job, Outcome, Way
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure import network, stats
from omnipgas_tools.measure.runner import Limits
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.targets.bench import Bench, limits
from omnipgas_tools.targets.measurement import Measurement
from omnipgas_tools.targets.target import Target, at_least

MPIS = ("mpich", "openmpi")
# Mbit/s, and points of each side of the plane that is exchanged: messages long beside the 80 kB that a limited link
# lets pass at once.
LINKS = {100: 200, 1000: 400}
MINE, BY_MPI = Way("double-buffer"), Way("mpi")
BOUND = 0.8
# How long the computation takes, of an exchange, and what is measured with it.
SHORTER, EQUAL, LONGER = 0.5, 1.0, 2.0
WORDS = {SHORTER: "half as long", EQUAL: "as long", LONGER: "twice as long"}
OTHERS = (BY_MPI, Way("double-buffer", False), Way("mpi", False), Way("single"), Way("acked"))
WAYS = {SHORTER: (MINE, BY_MPI), EQUAL: (MINE, *OTHERS), LONGER: (MINE, BY_MPI)}


@dataclass(frozen=True)
class OverLink(Measurement):
    """Computations shorter and longer than an exchange; in the processes of an MPI, or of none."""

    library: str
    rate: int
    side: int
    how: Limits = field(default_factory=limits)

    def target(self, factor: float, way: Way) -> Target:
        """Of a way, beside a computation that takes `factor` times an exchange."""
        where = f"{self.rate} Mbit/s, {self.side**2 * 8 // 1000} kB each way, computation {WORDS[factor]}"
        name = f"part of a halo exchange hidden, {where}, {way} ({self.library})"
        return at_least(name, BOUND if way == MINE else None)

    @property
    def targets(self) -> list[Target]:
        return [self.target(factor, way) for factor, ways in WAYS.items() for way in ways]

    def measure(self, bench: Bench) -> Iterator[Target]:
        found = peers.find(bench.table[self.library], bench.build, "product")
        size = self.side**2 * 8
        with network.two_hosts(self.rate) as hosts, Worker(network.spread(found, hosts), 1, size) as worker:
            job = Job(worker, self.how, 1, bench.progress)
            exchange, plane = job.pace(self.side, MINE.strategy)
            for factor, ways in WAYS.items():
                outcome = job.measure(self.side, halo_overlap.planes_for(factor, exchange, plane), ways)
                run = {"library": self.library, "rate_mbit": self.rate, "factor": factor}
                bench.rows.append({"bench": "halo-overlap"} | run | outcome.to_json())
                yield from (hidden(outcome, way, self.target(factor, way)) for way in ways)


def measurements() -> Iterator[OverLink]:
    """In the processes of each MPI, over each link."""
    return (OverLink(mpi, rate, side) for rate, side in LINKS.items() for mpi in MPIS)


def hidden(outcome: Outcome, way: Way, target: Target) -> Target:
    """The median over rounds."""
    if why := outcome.refused.get(way.strategy):
        return target.missing(why)
    parts = outcome.hidden(way)
    if len(parts) < stats.PAIRS_FOR_A_CLAIM:
        return target.missing(f"{len(parts)} rounds, {stats.PAIRS_FOR_A_CLAIM} needed")
    exchange, compute, both = (
        stats.median_interval(times).median * 1e3
        for times in (outcome.exchange[way.strategy], outcome.compute, outcome.both[way])
    )
    note = f"exchange {exchange:.3g} ms, computation {compute:.3g} ms, both {both:.3g} ms; {outcome.planes} planes"
    return target.within(stats.median_interval(parts), note)

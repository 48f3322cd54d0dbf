# SPDX-License-Identifier: BSD-3-Clause
"""Targets of halo exchange behind computation: how much of it is hidden behind the product that needs no halo,
between two hosts over links of limited rate."""

from collections.abc import Iterator, Sequence

from omnipgas_tools.halo import overlap as halo_overlap
from omnipgas_tools.halo.overlap import Job, Outcome, Way
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network, stats
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.targets.measurement import Bench, Measurement, limits
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


def over_link(library: str, rate: int, side: int, how: Limits | None = None) -> Measurement:
    """Computations shorter and longer than an exchange; in the processes of an MPI, or of none."""

    def measure(bench: Bench, _: Sequence[Target]) -> Iterator[Target]:
        found = catalog.find(bench.table[library], bench.build, "product")
        with network.two_hosts(rate) as hosts, Worker(network.spread(found, hosts), 1, side**2 * 8) as worker:
            job = Job(worker, how or limits(), 1, bench.progress)
            exchange, plane = job.pace(side, MINE.strategy)
            for factor, ways in WAYS.items():
                outcome = job.measure(side, halo_overlap.planes_for(factor, exchange, plane), ways)
                run = {"bench": "halo-overlap", "library": library, "rate_mbit": rate, "factor": factor}
                bench.rows.append(run | outcome.to_json())
                yield from (hidden(outcome, way, target(library, rate, side, factor, way)) for way in ways)

    wanted = (target(library, rate, side, factor, way) for factor, ways in WAYS.items() for way in ways)
    return Measurement(measure, *wanted)


def target(library: str, rate: int, side: int, factor: float, way: Way) -> Target:
    """Of a way, beside a computation that takes `factor` times an exchange."""
    where = f"{rate} Mbit/s, {side**2 * 8 // 1000} kB each way, computation {WORDS[factor]}"
    return at_least(f"part of a halo exchange hidden, {where}, {way} ({library})", BOUND if way == MINE else None)


def measurements() -> Iterator[Measurement]:
    """In the processes of each MPI, over each link."""
    return (over_link(mpi, rate, side) for rate, side in LINKS.items() for mpi in MPIS)


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

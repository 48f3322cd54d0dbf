# SPDX-License-Identifier: BSD-3-Clause
"""Targets of halo exchange: bare exchanges over shared memory, by double buffering and by what it is measured
against."""

from collections.abc import Iterator, Mapping, Sequence

from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, ring
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.targets.measurement import Bench, Measurement, limits
from omnipgas_tools.targets.target import Target, at_most

MPIS = ("mpich", "openmpi")
MINE = "double-buffer"
# With bounds of the ratio; None: whatever comes out.
NEAR: dict[str, float | None] = {"mpi": 0.5, "mpi-put": 1.0, "single": None, "acked": None}
# As METIS leaves it at 100 parts: more ranks than cores.
MANY: dict[str, float | None] = {"mpi": 0.5, "single": None, "acked": None}


def exchange(
    mpi: str, where: str, pattern: Pattern, others: Mapping[str, float | None], how: Limits | None = None
) -> Measurement:
    """Double buffering over the others, in the processes of an MPI."""

    def measure(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
        found = catalog.with_ranks(catalog.find(bench.table[mpi], bench.build, "halo"), pattern.ranks, bench.build)
        strategies = [MINE, *others]
        here = halo_rounds.over(found, "shm")
        outcome = halo_rounds.measure(here, pattern, strategies, how or limits(), 1, bench.progress)
        if outcome.interrupted:
            raise KeyboardInterrupt
        bench.rows += halo_rounds.rows(outcome, "mpi")
        reasons = {timing.strategy: timing.reason for timing in outcome.timings if timing.status != "ok"}
        for other, target in zip(others, targets, strict=True):
            if why := reasons.get(MINE) or reasons.get(other):
                yield target.missing(why)
            else:
                yield target.ratio(outcome.rounds(MINE), outcome.rounds(other))

    start = f"double-buffered halo exchange, shm, {where}, of"
    return Measurement(measure, *(at_most(f"{start} {other} ({mpi})", bound) for other, bound in others.items()))


def measurements() -> Iterator[Measurement]:
    """Beside each MPI: one neighbour with long messages, and many with short ones."""
    near, many = ring(2, 1, 80_000, 80_000), ring(18, 17, 64, 6000)
    for mpi in MPIS:
        yield exchange(mpi, "2 ranks, 80 kB each way", near, NEAR)
        yield exchange(mpi, "17 neighbours, 64 B to 6 kB, oversubscribed", many, MANY)

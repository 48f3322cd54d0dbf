# SPDX-License-Identifier: BSD-3-Clause
"""Targets of halo exchange: bare exchanges over shared memory, by double buffering and by what it is measured
against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, ring
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure.runner import Limits
from omnipgas_tools.targets.bench import Bench, limits
from omnipgas_tools.targets.measurement import Measurement
from omnipgas_tools.targets.target import Target, at_most

MPIS = ("mpich", "openmpi")
MINE = "double-buffer"
# With bounds of the ratio; None: whatever comes out.
NEAR: dict[str, float | None] = {"mpi": 0.5, "mpi-put": 1.0, "single": None, "acked": None}
# As METIS leaves it at 100 parts: more ranks than cores.
MANY: dict[str, float | None] = {"mpi": 0.5, "single": None, "acked": None}


@dataclass(frozen=True)
class Exchange(Measurement):
    """Double buffering over the others, in the processes of an MPI."""

    mpi: str
    where: str
    pattern: Pattern
    others: Mapping[str, float | None]
    how: Limits = field(default_factory=limits)

    @property
    def targets(self) -> list[Target]:
        start = f"double-buffered halo exchange, shm, {self.where}, of"
        return [at_most(f"{start} {other} ({self.mpi})", bound) for other, bound in self.others.items()]

    def measure(self, bench: Bench) -> Iterator[Target]:
        found = peers.find(bench.table[self.mpi], bench.build, "halo")
        here = halo_rounds.over(peers.with_ranks(found, self.pattern.ranks, bench.build), "shm")
        outcome = halo_rounds.measure(here, self.pattern, [MINE, *self.others], self.how, 1, bench.progress)
        if outcome.interrupted:
            raise KeyboardInterrupt
        bench.rows += halo_rounds.rows(outcome, "mpi")
        reasons = {timing.strategy: timing.reason for timing in outcome.timings if timing.status != "ok"}
        for other, target in zip(self.others, self.targets, strict=True):
            if why := reasons.get(MINE) or reasons.get(other):
                yield target.missing(why)
            else:
                yield target.ratio(outcome.rounds(MINE), outcome.rounds(other))


def measurements() -> Iterator[Exchange]:
    """Beside each MPI: one neighbour with long messages, and many with short ones."""
    near, many = ring(2, 1, 80_000, 80_000), ring(18, 17, 64, 6000)
    for mpi in MPIS:
        yield Exchange(mpi, "2 ranks, 80 kB each way", near, NEAR)
        yield Exchange(mpi, "17 neighbours, 64 B to 6 kB, oversubscribed", many, MANY)

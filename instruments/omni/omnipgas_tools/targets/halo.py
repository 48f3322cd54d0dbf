# SPDX-License-Identifier: BSD-3-Clause
"""The figures of halo exchange: bare exchanges over shared memory, by double buffering and by what it is measured
against."""

from __future__ import annotations

from collections.abc import Mapping

from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, ring
from omnipgas_tools.libraries import peers
from omnipgas_tools.libraries.peers import MissingError
from omnipgas_tools.measure.runner import Limits
from omnipgas_tools.targets.bench import Bench, limits
from omnipgas_tools.targets.target import Target, interval, missing

MPIS = ("mpich", "openmpi")
MINE = "double-buffer"
# With bounds of the ratio; None: whatever comes out.
NEAR: dict[str, float | None] = {"mpi": 0.5, "mpi-put": 1.0, "single": None, "acked": None}
# As METIS leaves it at 100 parts: more ranks than cores.
MANY: dict[str, float | None] = {"mpi": 0.5, "single": None, "acked": None}


def figures(bench: Bench) -> list[Target]:
    """Beside each MPI: one neighbour with long messages, and many with short ones."""
    near, many = ring(2, 1, 80_000, 80_000), ring(18, 17, 64, 6000)
    found = []
    for mpi in MPIS:
        found += compare(bench, mpi, "2 ranks, 80 kB each way", near, NEAR, limits())
        found += compare(bench, mpi, "17 neighbours, 64 B to 6 kB, oversubscribed", many, MANY, limits())
    return found


def compare(
    bench: Bench, mpi: str, where: str, pattern: Pattern, others: Mapping[str, float | None], how: Limits
) -> list[Target]:
    """Double buffering over the others, in the processes of an MPI."""
    names = {other: f"double-buffered halo exchange, shm, {where}, of {other} ({mpi})" for other in others}
    try:
        here = peers.with_ranks(peers.find(bench.table[mpi], bench.build, "halo"), pattern.ranks, bench.build)
    except MissingError as missing_:
        return [missing(names[other], bound, True, str(missing_)) for other, bound in others.items()]
    outcome = halo_rounds.measure(halo_rounds.over(here, "shm"), pattern, [MINE, *others], how, 1, bench.progress)
    if outcome.interrupted:
        raise KeyboardInterrupt
    bench.rows += halo_rounds.rows(outcome, "mpi")
    reasons = {timing.strategy: timing.reason for timing in outcome.timings if timing.status != "ok"}
    made = []
    for other, bound in others.items():
        if why := reasons.get(MINE) or reasons.get(other):
            made.append(missing(names[other], bound, True, why))
        else:
            made.append(interval(names[other], outcome.rounds(MINE), outcome.rounds(other), bound, True))
    return made

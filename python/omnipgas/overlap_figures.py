# SPDX-License-Identifier: BSD-3-Clause
"""The figures of nonblocking collectives: the layer's time beside the best MPI's; what its progress thread costs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from omnipgas import overlap_plan, overlap_rounds, overlap_rows, peers
from omnipgas.bench import Bench
from omnipgas.figure import Figure, interval, missing
from omnipgas.overlap_plan import DEFAULT, MODES, NONE, SHARED, SPARE, Cell, Layout, PlanError, Series
from omnipgas.overlap_rounds import Journal, Key, Outcome
from omnipgas.peers import MissingError
from omnipgas.runner import Limits

MPIS = ("mpich", "openmpi", "intel")
ALGORITHMS = (DEFAULT, "recursive-doubling", "ring")
PURE_SIZES = tuple(1 << power for power in range(0, 21, 4))  # 1 B to 1 MiB
LONG_SIZES = (65536, 262144, 1048576)
ROUNDS = 30


def figures(bench: Bench) -> list[Figure]:
    """All of them."""
    here = tuple(peers.affinity())
    how = Limits(rounds=ROUNDS, seconds=0.02, iterations=1000, timeout=60)
    found = []
    for ranks in (2, 4):
        found += pure(bench, Layout(1, max(ranks, len(here) // ranks * ranks), ranks, here), how)
    return found + modes(bench, Layout(2, max(2, len(here) // 2), 1, here), how)


def pure(bench: Bench, layout: Layout, how: Limits) -> list[Figure]:
    """Start and wait, of the best MPI with its best algorithm."""
    cells = [Cell(collective, size, "1") for collective in ("allgather", "allreduce") for size in PURE_SIZES]
    mpis = [(mpi, (NONE,), ALGORITHMS) for mpi in MPIS]
    out = study(bench, [("ompl", (NONE,), (DEFAULT,)), *mpis], layout, cells, how)
    made = []
    for cell in cells:
        times = {one.key: _rounds(out, one.key, cell, "pure_us") for one in out.series}
        others = [found for key, found in times.items() if key[0] != "ompl" and found]
        best = min(others, key=lambda found: statistics.median(found.values()), default={})
        mine = times.get(("ompl", layout.ranks, NONE, DEFAULT), {})
        name = f"nonblocking {cell.collective}, {layout.ranks} ranks, {cell.size} B, of the best MPI"
        made.append(_ratio(name, mine, best, 0.7))
    return made


def modes(bench: Bench, layout: Layout, how: Limits) -> list[Figure]:
    """The layer's progress thread: what it costs at 8 B, hides of long messages, and takes from the computation."""
    cells = [Cell("allgather", size, "1") for size in (8, *LONG_SIZES)]
    out = study(bench, [("ompl", MODES, (DEFAULT,))], layout, cells, how)

    def of(mode: str, cell: Cell, name: str) -> dict[int, float]:
        return _rounds(out, ("ompl", layout.ranks, mode, DEFAULT), cell, name)

    short = [of(mode, cells[0], "pure_us") for mode in (SHARED, NONE)]
    made = [_ratio("nonblocking allgather, 8 B, shared, of mode none", *short, 1.3)]
    for cell in cells[1:]:
        where = f"nonblocking allgather, {cell.size} B"
        times = zip(*(of(SPARE, cell, name).values() for name in ("pure_us", "compute_us", "overall_us")), strict=True)
        percents = [overlap_rows.overlap_percent(*one) for one in times]
        name = f"{where}, overlap with a spare core"
        if percents:
            middle = statistics.median(percents)
            made.append(Figure(name, middle, 90, False, unit="%", note=layout.emulation or ""))
        else:
            made.append(missing(name, 90, False, "was not measured"))
        for elements in set(of(SPARE, cell, "elements").values()) or {0}:
            key = ("ompl", layout.ranks, NONE, DEFAULT)
            alone = out.alone(key, cell.kernel, int(elements), layout.t_calc(SPARE))
            name = f"{where}, computation beside a spare core, of alone"
            made.append(_ratio(name, of(SPARE, cell, "compute_us"), alone, 1.05))
        whole = [of(mode, cell, "overall_us") for mode in (SHARED, NONE)]
        made.append(_ratio(f"{where}, the same work, shared, of mode none", *whole, 1.05))
    return made


def study(
    bench: Bench, wanted: Sequence[tuple[str, Sequence[str], Sequence[str]]], layout: Layout, cells: Sequence[Cell],
    how: Limits,
) -> Outcome:  # fmt: skip
    """The series of libraries, their modes and algorithms that are here."""
    tables = overlap_plan.families(bench.build)
    collectives = list(dict.fromkeys(cell.collective for cell in cells))
    series: list[Series] = []
    for name, its_modes, algorithms in wanted:
        try:
            found = peers.with_ranks(peers.find(bench.table[name], bench.build, "overlap"), layout.ranks, bench.build)
            family = tables[found.peer.family]
            series += [
                overlap_plan.series(found, family, layout, mode, algorithm, collectives)
                for mode in its_modes
                for algorithm in algorithms
            ]
        except (MissingError, PlanError):
            continue  # the figure says that it was not measured
    series = [one for one in series if one.collectives]
    out = overlap_rounds.measure(series, cells, how, 1, bench.progress, Journal(None, {}))
    if out.interrupted:
        raise KeyboardInterrupt
    bench.rows += overlap_rows.rows(out)
    return out


def _rounds(out: Outcome, key: Key, cell: Cell, name: str) -> dict[int, float]:
    return {index: getattr(sample, name) for index, sample in out.samples(key, cell).items()}


def _ratio(name: str, mine: Mapping[int, float], other: Mapping[int, float], bound: float) -> Figure:
    both = [index for index in mine if index in other]
    return interval(name, [mine[index] for index in both], [other[index] for index in both], bound, at_most=True)

# SPDX-License-Identifier: BSD-3-Clause
"""The figures of nonblocking collectives: the layer's time beside the best MPI's; what its progress thread costs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from omnipgas_tools.libraries import peers
from omnipgas_tools.libraries.peers import MissingError
from omnipgas_tools.measure.runner import Limits
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.overlap import rounds as overlap_rounds
from omnipgas_tools.overlap import rows as overlap_rows
from omnipgas_tools.overlap.plan import (
    DEFAULT,
    IDLE,
    LOCKED_QUEUE,
    NONE,
    SHARED,
    SPARE,
    Cell,
    Layout,
    PlanError,
    Series,
)
from omnipgas_tools.overlap.rounds import Journal, Key, Outcome
from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.target import Target, interval, missing

MPIS = ("mpich", "openmpi", "intel")
ALGORITHMS = (DEFAULT, "recursive-doubling", "ring")
PURE_SIZES = tuple(1 << power for power in range(0, 21, 4))  # 1 B to 1 MiB
LONG_SIZES = (65536, 262144, 1048576)
ROUNDS = 30


def figures(bench: Bench) -> list[Target]:
    """All of them."""
    here = tuple(peers.affinity())
    how = Limits(rounds=ROUNDS, seconds=0.02, iterations=1000, timeout=60)
    beside = [Cell(collective, size, "1") for collective in ("allgather", "allreduce") for size in PURE_SIZES]
    mpis = [(mpi, (NONE,), ALGORITHMS) for mpi in MPIS]
    found = []
    for ranks in (2, 4):
        layout = Layout(1, max(ranks, len(here) // ranks * ranks), ranks, here)
        found += pure(study(bench, [("ompl", (NONE,), (DEFAULT,)), *mpis], layout, beside, how), ranks)
    layout = Layout(2, max(2, len(here) // 2), 1, here)
    modes = (NONE, SHARED, IDLE, LOCKED_QUEUE)
    found += switched_on(study(bench, [("ompl", modes, (DEFAULT,))], layout, [Cell("allgather", 8, "1")], how), layout)
    # A core free in each of two nodes takes four cores. Of fewer one rank has both, and the core of its progress thread
    # does the other rank's work too: the computation is long enough for that.
    cells = [Cell("allgather", size, "4") for size in LONG_SIZES]
    layout = Layout(2, max(2, len(here) // 2), 1, here, alone=len(here) < 4)
    found += hidden(study(bench, [("ompl", (NONE, SPARE), (DEFAULT,))], layout, cells, how), layout)
    cells = [replace(cell, computation="1") for cell in cells]
    layout = Layout(2, max(1, len(here) // 2), 1, here)
    return found + subscribed(study(bench, [("ompl", (NONE, SHARED), (DEFAULT,))], layout, cells, how), layout)


def pure(out: Outcome, ranks: int) -> list[Target]:
    """Start and wait, of the best MPI with its best algorithm."""
    made = []
    for cell in out.cells:
        times = {one.key: _rounds(out, one.key, cell, "pure_us") for one in out.series}
        others = [found for key, found in times.items() if key[0] != "ompl" and found]
        best = min(others, key=lambda found: statistics.median(found.values()), default={})
        mine = times.get(("ompl", ranks, NONE, DEFAULT), {})
        name = f"nonblocking {cell.collective}, {ranks} ranks, {cell.size} B, of the best MPI"
        made.append(_ratio(name, mine, best, 0.7))
    return made


def switched_on(out: Outcome, layout: Layout) -> list[Target]:
    """What the layer's modes cost a short collective that hides nothing; beside them a progress thread that shares a
    locked queue with the caller, which is the cause of the paper's section 4.4.3."""
    made = []
    for cell in out.cells:
        times = {
            mode: _rounds(out, ("ompl", layout.ranks, mode, DEFAULT), cell, "pure_us")
            for mode in (NONE, SHARED, IDLE, LOCKED_QUEUE)
        }
        for mode, bound in ((SHARED, 1.3), (IDLE, 1.3), (LOCKED_QUEUE, None)):
            name = f"nonblocking {cell.collective}, {cell.size} B, {mode}, of mode none"
            made.append(_ratio(name, times[mode], times[NONE], bound))
    return made


def hidden(out: Outcome, layout: Layout) -> list[Target]:
    """What the layer's progress thread on a core of its own hides of long collectives, and what it takes from the
    computation."""
    none, spare = (("ompl", layout.ranks, mode, DEFAULT) for mode in (NONE, SPARE))
    made: list[Target] = []
    for cell in out.cells:
        where = f"nonblocking allgather, {cell.size} B"
        made.append(_overlap(out, spare, cell, f"{where}, overlap with a spare core", layout.emulation or ""))
        elements = next(iter(out.samples(spare, cell).values())).elements if made[-1].value is not None else 0
        alone = out.alone(none, cell.kernel, elements, layout.t_calc(SPARE))
        beside = _rounds(out, spare, cell, "compute_us")
        made.append(_ratio(f"{where}, computation beside a spare core, of alone", beside, alone, 1.05))
    return made


def subscribed(out: Outcome, layout: Layout) -> list[Target]:
    """What it takes where every core computes: the time of the same work."""
    made = []
    for cell in out.cells:
        shared, none = (
            _rounds(out, ("ompl", layout.ranks, mode, DEFAULT), cell, "overall_us") for mode in (SHARED, NONE)
        )
        name = f"nonblocking allgather, {cell.size} B, the same work, shared, of mode none"
        made.append(_ratio(name, shared, none, 1.05))
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


def _overlap(out: Outcome, key: Key, cell: Cell, name: str, note: str) -> Target:
    percents = [
        overlap_rows.overlap_percent(one.pure_us, one.compute_us, one.overall_us)
        for one in out.samples(key, cell).values()
    ]
    if not percents:
        return missing(name, 90, False, "was not measured")
    return Target(name, statistics.median(percents), 90, False, unit="%", note=note)


def _ratio(name: str, mine: Mapping[int, float], other: Mapping[int, float], bound: float | None) -> Target:
    both = [index for index in mine if index in other]
    return interval(name, [mine[index] for index in both], [other[index] for index in both], bound, at_most=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of nonblocking collectives: the layer's time beside the best MPI's; what its progress thread costs."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure.rounds import Limits
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
from omnipgas_tools.targets.measurement import Bench, Measurement
from omnipgas_tools.targets.target import Target, at_least, at_most

MPIS = ("mpich", "openmpi", "intel")
ALGORITHMS = (DEFAULT, "recursive-doubling", "ring")
PURE_SIZES = tuple(1 << power for power in range(0, 21, 4))  # 1 B to 1 MiB
LONG_SIZES = (65536, 262144, 1048576)
ROUNDS = 30


Wanted = tuple[str, Sequence[str], Sequence[str]]  # a library, its modes and algorithms


Judge = Callable[[Outcome, Layout], list[Target]]


def judged(wanted: Sequence[Wanted], layout: Layout, cells: Sequence[Cell], judge: Judge) -> Measurement:
    """Series of libraries, their modes and algorithms, at cells; a function makes targets of what comes out."""

    def measure(bench: Bench, _: Sequence[Target]) -> list[Target]:
        how = Limits(rounds=ROUNDS, seconds=0.02, iterations=1000, timeout=60)
        return judge(study(bench, wanted, layout, cells, how), layout)

    return Measurement(measure, *judge(Outcome([], list(cells)), layout))


def measurements() -> Iterator[Measurement]:
    """All of them, on the cores that are here."""
    here = tuple(catalog.affinity())
    half = len(here) // 2
    beside = [Cell(collective, size, "1") for collective in ("allgather", "allreduce") for size in PURE_SIZES]
    mpis = [(mpi, (NONE,), ALGORITHMS) for mpi in MPIS]
    for ranks in (2, 4):
        layout = Layout(1, max(ranks, len(here) // ranks * ranks), ranks, here)
        yield judged([_layer(NONE), *mpis], layout, beside, pure)
    modes = (NONE, SHARED, IDLE, LOCKED_QUEUE)
    yield judged([_layer(*modes)], Layout(2, max(2, half), 1, here), [Cell("allgather", 8, "1")], switched_on)
    # A core free in each of two nodes takes four cores. Of fewer one rank has both, and the core of its progress thread
    # does the other rank's work too: the computation is long enough for that.
    cells = [Cell("allgather", size, "4") for size in LONG_SIZES]
    yield judged([_layer(NONE, SPARE)], Layout(2, max(2, half), 1, here, alone=len(here) < 4), cells, hidden)
    cells = [replace(cell, computation="1") for cell in cells]
    yield judged([_layer(NONE, SHARED)], Layout(2, max(1, half), 1, here), cells, subscribed)


def _layer(*modes: str) -> Wanted:
    return "ompl", modes, (DEFAULT,)


def pure(out: Outcome, layout: Layout) -> list[Target]:
    """Start and wait, of the best MPI with its best algorithm."""
    made = []
    for cell in out.cells:
        times = {one.key: _rounds(out, one.key, cell, "pure_us") for one in out.series}
        others = [found for key, found in times.items() if key[0] != "ompl" and found]
        best = min(others, key=lambda found: statistics.median(found.values()), default={})
        mine = times.get(("ompl", layout.ranks, NONE, DEFAULT), {})
        name = f"nonblocking {cell.collective}, {layout.ranks} ranks, {cell.size} B, of the best MPI"
        made.append(_ratio(at_most(name, 0.7), mine, best))
    return made


def switched_on(out: Outcome, layout: Layout) -> list[Target]:
    """What the layer's modes cost a short collective that hides nothing; beside them a progress thread that shares a
    locked queue with the caller, which is the cause of the paper's section 4.4.3."""
    made = []
    for cell in out.cells:
        for mode, bound in ((SHARED, 1.3), (IDLE, 1.3), (LOCKED_QUEUE, None)):
            target = at_most(f"nonblocking {cell.collective}, {cell.size} B, {mode}, of mode none", bound)
            made.append(_of_mode_none(target, out, layout, mode, cell, "pure_us"))
    return made


def hidden(out: Outcome, layout: Layout) -> list[Target]:
    """What the layer's progress thread on a core of its own hides of long collectives, and what it takes from the
    computation."""
    none, spare = (("ompl", layout.ranks, mode, DEFAULT) for mode in (NONE, SPARE))
    made: list[Target] = []
    for cell in out.cells:
        where = f"nonblocking allgather, {cell.size} B"
        samples = out.samples(spare, cell)
        percents = [
            overlap_rows.overlap_percent(one.pure_us, one.compute_us, one.overall_us) for one in samples.values()
        ]
        share = at_least(f"{where}, overlap with a spare core", 90, "%")
        note = layout.emulation or ""
        made.append(share.found(statistics.median(percents), note) if percents else share.missing("was not measured"))
        elements = next(iter(samples.values())).elements if samples else 0
        alone = out.alone(none, cell.kernel, elements, layout.t_calc(SPARE))
        beside = _rounds(out, spare, cell, "compute_us")
        made.append(_ratio(at_most(f"{where}, computation beside a spare core, of alone", 1.05), beside, alone))
    return made


def subscribed(out: Outcome, layout: Layout) -> list[Target]:
    """What it takes where every core computes: the time of the same work."""
    return [
        _of_mode_none(
            at_most(f"nonblocking allgather, {cell.size} B, the same work, shared, of mode none", 1.05),
            out, layout, SHARED, cell, "overall_us",
        )
        for cell in out.cells
    ]  # fmt: skip


def study(bench: Bench, wanted: Sequence[Wanted], layout: Layout, cells: Sequence[Cell], how: Limits) -> Outcome:
    """The series that are here, measured."""
    tables = overlap_plan.families(bench.build)
    collectives = list(dict.fromkeys(cell.collective for cell in cells))
    series: list[Series] = []
    for name, its_modes, algorithms in wanted:
        try:
            found = catalog.find(bench.table[name], bench.build, "overlap")
            found = catalog.with_ranks(found, layout.ranks, bench.build)
            family = tables[found.library.family]
            series += [
                overlap_plan.series(found, family, layout, mode, algorithm, collectives)
                for mode in its_modes
                for algorithm in algorithms
            ]
        except (MissingError, PlanError):
            continue  # the target says that it was not measured
    series = [one for one in series if one.collectives]
    out = overlap_rounds.measure(series, cells, how, 1, bench.progress, Journal(None, {}))
    if out.interrupted:
        raise KeyboardInterrupt
    bench.rows += overlap_rows.rows(out)
    return out


def _rounds(out: Outcome, key: Key, cell: Cell, name: str) -> dict[int, float]:
    return {index: getattr(sample, name) for index, sample in out.samples(key, cell).items()}


def _of_mode_none(target: Target, out: Outcome, layout: Layout, mode: str, cell: Cell, name: str) -> Target:
    mine, none = (_rounds(out, ("ompl", layout.ranks, one, DEFAULT), cell, name) for one in (mode, NONE))
    return _ratio(target, mine, none)


def _ratio(target: Target, mine: Mapping[int, float], other: Mapping[int, float]) -> Target:
    both = [index for index in mine if index in other]
    return target.ratio([mine[index] for index in both], [other[index] for index in both])

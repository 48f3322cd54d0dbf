# SPDX-License-Identifier: BSD-3-Clause
"""Targets of tasks: the smallest efficient tasks of Task Bench (METG), beside MPI with and without OpenMP."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from omnipgas_tools.measure import stats
from omnipgas_tools.measure.rounds import OK, Limits
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError
from omnipgas_tools.targets.target import Target, at_most
from omnipgas_tools.tasks import bounds, report
from omnipgas_tools.tasks.bounds import Bounds
from omnipgas_tools.tasks.plan import Layout, Work, contenders
from omnipgas_tools.tasks.programs import Builder, checked_source
from omnipgas_tools.tasks.rounds import Curve, Plan, measure

MINE = {"tasklet": "tasks", "ompl": "threads that put and signal"}
ALONE, MULTIPLE = "mpi", "mpi-multiple"
RIVALS = {MULTIPLE: ("MPI+OpenMP with THREAD_MULTIPLE", 0.5), ALONE: ("MPI alone", 1.0)}
MPIS = ("mpich", "openmpi")
LAYOUTS = (Layout(2, 1), Layout(1, 2))
PATTERN, SIZE, EFFICIENCY = "stencil_1d", 16, 0.5
ROUNDS = stats.PAIRS_FOR_A_CLAIM + 1
ITERATIONS = [1 << power for power in range(4, 15)]
TIMEOUT, SECONDS = 60.0, 0.01


def declared() -> list[tuple[Target, str, str, Layout]]:
    """Each with our form, the rival's and our layout."""
    return [
        (at_most(f"METG, {PATTERN}, 2 cores, {name}, {layout.ranks} ranks x {layout.threads}, of {rival}", most),
         mine, other, layout)
        for mine, name in MINE.items() for layout in LAYOUTS for other, (rival, most) in RIVALS.items()
    ]  # fmt: skip


def judged(target: Target, mine: Sequence[Bounds], other: Sequence[Bounds], note: str) -> Target:
    """The median of the ratios of rounds. Where only bounds are known, the value is the one that decides: the upper one
    if that keeps the target's bound, else the lower one; neither may do so."""
    pairs = [one.over(two) for one, two in zip(mine, other, strict=False)]
    if len(pairs) < stats.PAIRS_FOR_A_CLAIM:
        return target.missing(f"{len(pairs)} rounds, {stats.PAIRS_FOR_A_CLAIM} needed")
    middle, spread = bounds.median(pairs), bounds.interval(pairs)
    note = f"{note}; {bounds.median(mine).text()} and {bounds.median(other).text()} us"
    if not middle.known:
        note += f"; the ratio is {middle.text()}"
    decides = target.bound is not None and (middle.high <= target.bound or middle.low > target.bound)
    if not decides and not middle.known:
        return target.missing(f"not decided: {note}")
    value = middle.high if target.bound is not None and middle.high <= target.bound else middle.low
    high = None if math.isinf(spread.high) else spread.high
    return replace(target, value=value, low=spread.low, high=high, unit="x", note=note)


def best(curves: Mapping[tuple[str, Layout], Curve], form: str, layout: Layout) -> Curve:
    """Of a form on the MPIs, the one with the lowest METG. Raises NotMeasuredError."""
    every = [curves.get((f"{form} {mpi}", layout)) for mpi in MPIS]
    found = [curve for curve in every if curve and curve.status == OK and curve.rounds]
    if not found:
        raise NotMeasuredError(f"no MPI ran {form} on {layout}")
    return min(found, key=lambda curve: bounds.median(curve.metg(EFFICIENCY)).low)


def smallest(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """All of them from the same rounds."""
    if len(os.sched_getaffinity(0)) < 2:
        raise NotMeasuredError("needs two cores")
    builder = Builder(checked_source(None), bench.build)
    found, _ = contenders(builder, [*MINE, ALONE, MULTIPLE], MPIS, LAYOUTS, TIMEOUT)
    plan = Plan(ITERATIONS, SECONDS, Limits(rounds=ROUNDS, min_rounds=ROUNDS, timeout=TIMEOUT))
    bench.progress.plan((len(found) * len(ITERATIONS) + 1) * ROUNDS)
    measured, interrupted = measure(found, Work(PATTERN, 2, SIZE, 0.0), plan, bench.progress)
    bench.rows += [{"bench": "tasks", **report.row(curve, EFFICIENCY)} for curve in measured]
    if interrupted:
        raise KeyboardInterrupt
    curves = {(curve.contender.name, curve.contender.layout): curve for curve in measured}
    for target, (_, mine, other, layout) in zip(targets, declared(), strict=True):
        yield compared(target, curves, mine, other, layout)


def compared(
    target: Target, curves: Mapping[tuple[str, Layout], Curve], mine: str, other: str, layout: Layout
) -> Target:
    """One of ours beside its rival, which without threads has two ranks."""
    own = curves[mine, layout]
    if own.status != OK:
        return target.missing(own.reason)
    try:
        rival = best(curves, other, LAYOUTS[0] if other == ALONE else layout)
    except NotMeasuredError as error:
        return target.missing(str(error))
    return judged(target, own.metg(EFFICIENCY), rival.metg(EFFICIENCY), rival.contender.key)


def measurements() -> Iterator[Measurement]:
    """The group."""
    yield Measurement(smallest, *(target for target, *_ in declared()))

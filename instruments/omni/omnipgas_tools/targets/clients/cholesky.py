# SPDX-License-Identifier: BSD-3-Clause
"""Targets of a factorization by tasks over ranks, beside its forms over MPI with OpenMP on the same cores."""

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError
from omnipgas_tools.targets.target import Target, at_most
from omnipgas_tools.tasks import cholesky
from omnipgas_tools.tasks.cholesky import Size
from omnipgas_tools.tasks.plan import Layout

MPI = "mpich"
SIZES = (Size(512, 32), Size(512, 64), Size(1024, 64), Size(1024, 128))
LAYOUTS = (Layout(1, 1), Layout(2, 1), Layout(1, 2))
ROUNDS = stats.PAIRS_FOR_A_CLAIM + 1
TIMEOUT = 120.0


def name(size: Size, layout: Layout) -> str:
    """Of a target, without the rival."""
    where = f"{layout.ranks} ranks x {layout.threads}"
    return f"Cholesky, {size.rows} rows, tiles of {size.tile}, {where}, of the best form over MPI"


def beside(size: Size, layout: Layout, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The time of the form with the least, of the three."""
    if layout.cores > catalog.cores():
        raise NotMeasuredError(f"needs {layout.cores} cores")
    found = cholesky.contenders(bench.build, MPI, layout, TIMEOUT)
    limits = Limits(rounds=ROUNDS, min_rounds=ROUNDS, timeout=TIMEOUT)
    bench.progress.plan(len(found) * ROUNDS)
    mine, *others = cholesky.measure(found, size, limits, bench.progress)
    bench.rows += cholesky.rows([mine, *others])
    rivals = [one for one in others if cholesky.works(one)]
    if not cholesky.works(mine):
        raise NotMeasuredError(mine.reason)
    if not rivals:
        raise NotMeasuredError(others[0].reason)
    best = min(rivals, key=lambda one: statistics.median(one.rounds))
    middle, theirs = (statistics.median(one.rounds) * 1e3 for one in (mine, best))
    yield targets[0].ratio(mine.rounds, best.rounds, f"{best.contender.name}; {middle:.3g} and {theirs:.3g} ms")


def measurements() -> Iterator[Measurement]:
    """The group: sizes swept, on one core and on two."""
    for size in SIZES:
        for layout in LAYOUTS:
            yield Measurement(partial(beside, size, layout), at_most(name(size, layout), 1.0))

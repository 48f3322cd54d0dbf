# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the tuner of collectives: on recorded timings of this machine, and live beside the best algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from omnipgas_tools.measure import stats
from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.target import Target, missing
from omnipgas_tools.tuner import runs as tuner_runs
from omnipgas_tools.tuner.runs import Kind, Live, Replayed, RunError

COLLECTIVES = ("allreduce", "allgather", "broadcast", "alltoall")
SIZES = (8, 1024, 65536)
KINDS = [Kind(collective, size, ranks) for ranks in (2, 4) for collective in COLLECTIVES for size in SIZES]
STEADY, REGRET = 1.05, 0.1  # the bounds
RECORDINGS = stats.PAIRS_FOR_A_CLAIM  # of each kind: a call that something disturbs weighs as many others
BLOCK, ROUNDS = 200, 40  # calls, and how often


def figures(bench: Bench) -> list[Target]:
    """Of every kind of call."""
    made = []
    for kind in KINDS:
        made += [*recorded(bench, kind), beside_the_best(bench, kind)]
    return made


def recorded(bench: Bench, kind: Kind, calls: int = tuner_runs.CALLS, recordings: int = RECORDINGS) -> list[Target]:
    """Runs that are recorded here, then replayed."""
    try:
        made = [tuner_runs.record(bench.build, kind, calls) for _ in range(recordings)]
        found = tuner_runs.replay(bench.build, made)
    except RunError as error:
        return [missing(name, bound, True, str(error)) for name, bound in _names(kind).items()]
    bench.rows += [{"bench": "tuner-replayed", **asdict(one)} for one in found]
    return judged(found)


def judged(found: Sequence[Replayed]) -> list[Target]:
    """What replays of one kind show: medians over recordings."""
    takes = dict.fromkeys(one.takes for one in found)
    note = f"{len(found)} recordings of {found[0].calls} calls; takes {', '.join(takes)}"
    values = ([one.steady_of_best for one in found], [one.regret for one in found])
    return [
        Target(name, middle.median, bound, True, middle.low, middle.high, note=note)
        for (name, bound), middle in zip(_names(found[0].kind).items(), map(stats.median_interval, values), strict=True)
    ]


def beside_the_best(bench: Bench, kind: Kind, block: int = BLOCK, rounds: int = ROUNDS) -> Target:
    """The tuner at work, in rounds that take it and every algorithm in turn."""
    try:
        found = tuner_runs.live(bench.build, kind, block, rounds)
    except RunError as error:
        return missing(_live_name(kind), STEADY, True, str(error))
    bench.rows.append({"bench": "tuner-live", **asdict(found)})
    return held(found)


def held(found: Live) -> Target:
    """The bound holds if it lies in the interval, or above it: the value is the interval's low end."""
    try:
        ratio = found.ratio()
    except ValueError as error:
        return missing(_live_name(found.kind), STEADY, True, str(error))
    note = f"median {ratio.median:.3f}; the best is {found.best}"
    return Target(_live_name(found.kind), ratio.low, STEADY, True, ratio.low, ratio.high, "x", note)


def _names(kind: Kind) -> dict[str, float]:
    """Of a replay's figures, with their bounds."""
    return {
        f"tuner, replayed: {kind}, steady, of the best": STEADY,
        f"tuner, replayed: {kind}, regret": REGRET,
    }


def _live_name(kind: Kind) -> str:
    return f"tuner, live: {kind}, of the best, low end"

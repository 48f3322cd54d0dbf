# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the tuner of collectives: on recorded timings of this machine, and live beside the best algorithm."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from omnipgas_tools.measure import stats
from omnipgas_tools.targets.measurement import Bench, Measurement
from omnipgas_tools.targets.target import Target, at_most
from omnipgas_tools.tuner import runs as tuner_runs
from omnipgas_tools.tuner.runs import Kind, Live, Replayed

COLLECTIVES = ("allreduce", "allgather", "broadcast", "alltoall")
SIZES = (8, 1024, 65536)
KINDS = [Kind(collective, size, ranks) for ranks in (2, 4) for collective in COLLECTIVES for size in SIZES]
STEADY, REGRET = 1.05, 0.1  # the bounds


def replay_targets(kind: Kind) -> list[Target]:
    """Of runs that are recorded here, then replayed."""
    start = f"tuner, replayed: {kind}"
    return [at_most(f"{start}, steady, of the best", STEADY), at_most(f"{start}, regret", REGRET)]


def recorded(kind: Kind, calls: int = tuner_runs.CALLS, recordings: int = stats.PAIRS_FOR_A_CLAIM) -> Measurement:
    """Several recordings: a call that something disturbs weighs as many others."""

    def measure(bench: Bench, _: Sequence[Target]) -> list[Target]:
        found = tuner_runs.replay(bench.build, [tuner_runs.record(bench.build, kind, calls) for _ in range(recordings)])
        bench.rows += [{"bench": "tuner-replayed", **asdict(one)} for one in found]
        return judged(found)

    return Measurement(measure, *replay_targets(kind))


def judged(found: Sequence[Replayed]) -> list[Target]:
    """What replays of one kind show: medians over recordings."""
    takes = dict.fromkeys(one.takes for one in found)
    note = f"{len(found)} recordings of {found[0].calls} calls; takes {', '.join(takes)}"
    steady, regret = replay_targets(found[0].kind)
    return [
        steady.within(stats.median_interval([one.steady_of_best for one in found]), note),
        regret.within(stats.median_interval([one.regret for one in found]), note),
    ]


def beside_the_best(kind: Kind, block: int = 200, rounds: int = 40) -> Measurement:
    """The tuner at work, in rounds that take it and every algorithm in turn; `block` calls each."""

    def measure(bench: Bench, _: Sequence[Target]) -> Iterator[Target]:
        found = tuner_runs.live(bench.build, kind, block, rounds)
        bench.rows.append({"bench": "tuner-live", **asdict(found)})
        yield held(found)

    return Measurement(measure, live_target(kind))


def live_target(kind: Kind) -> Target:
    """Of the tuner at work."""
    return at_most(f"tuner, live: {kind}, of the best, low end", STEADY)


def held(found: Live) -> Target:
    """The bound holds if it lies in the interval, or above it: the value is the interval's low end."""
    ratio = found.ratio()
    note = f"median {ratio.median:.3f}; the best is {found.best}"
    return replace(live_target(found.kind).within(ratio, note), value=ratio.low, unit="x")


def measurements() -> Iterator[Measurement]:
    """Of every kind of call."""
    for kind in KINDS:
        yield recorded(kind)
        yield beside_the_best(kind)

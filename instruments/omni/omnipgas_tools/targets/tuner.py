# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the tuner of collectives: on recorded timings of this machine, and live beside the best algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from omnipgas_tools.measure import stats
from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.measurement import Measurement
from omnipgas_tools.targets.target import Target, at_most
from omnipgas_tools.tuner import runs as tuner_runs
from omnipgas_tools.tuner.runs import Kind, Live, Replayed

COLLECTIVES = ("allreduce", "allgather", "broadcast", "alltoall")
SIZES = (8, 1024, 65536)
KINDS = [Kind(collective, size, ranks) for ranks in (2, 4) for collective in COLLECTIVES for size in SIZES]
STEADY, REGRET = 1.05, 0.1  # the bounds


@dataclass(frozen=True)
class Recorded(Measurement):
    """Runs that are recorded here, then replayed."""

    kind: Kind
    calls: int = tuner_runs.CALLS
    recordings: int = stats.PAIRS_FOR_A_CLAIM  # a call that something disturbs weighs as many others

    @property
    def targets(self) -> list[Target]:
        start = f"tuner, replayed: {self.kind}"
        return [at_most(f"{start}, steady, of the best", STEADY), at_most(f"{start}, regret", REGRET)]

    def measure(self, bench: Bench) -> list[Target]:
        made = [tuner_runs.record(bench.build, self.kind, self.calls) for _ in range(self.recordings)]
        found = tuner_runs.replay(bench.build, made)
        bench.rows += [{"bench": "tuner-replayed", **asdict(one)} for one in found]
        return self.judged(found)

    def judged(self, found: Sequence[Replayed]) -> list[Target]:
        """What the replays show: medians over recordings."""
        takes = dict.fromkeys(one.takes for one in found)
        note = f"{len(found)} recordings of {found[0].calls} calls; takes {', '.join(takes)}"
        values = ([one.steady_of_best for one in found], [one.regret for one in found])
        pairs = zip(self.targets, values, strict=True)
        return [target.within(stats.median_interval(each), note) for target, each in pairs]


@dataclass(frozen=True)
class BesideTheBest(Measurement):
    """The tuner at work, in rounds that take it and every algorithm in turn."""

    kind: Kind
    block: int = 200  # calls
    rounds: int = 40

    @property
    def targets(self) -> list[Target]:
        return [at_most(f"tuner, live: {self.kind}, of the best, low end", STEADY)]

    def measure(self, bench: Bench) -> list[Target]:
        found = tuner_runs.live(bench.build, self.kind, self.block, self.rounds)
        bench.rows.append({"bench": "tuner-live", **asdict(found)})
        return [self.held(found)]

    def held(self, found: Live) -> Target:
        """The bound holds if it lies in the interval, or above it: the value is the interval's low end."""
        ratio = found.ratio()
        note = f"median {ratio.median:.3f}; the best is {found.best}"
        return replace(self.targets[0].within(ratio, note), value=ratio.low, unit="x")


def measurements() -> Iterator[Measurement]:
    """Of every kind of call."""
    for kind in KINDS:
        yield Recorded(kind)
        yield BesideTheBest(kind)

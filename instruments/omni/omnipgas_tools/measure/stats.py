# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of interleaved rounds: medians with bootstrap intervals, and merged histograms."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
PAIRS_FOR_A_CLAIM = 30


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % bootstrap interval."""

    median: float
    low: float
    high: float
    count: int

    @property
    def relative_width(self) -> float:
        """Half the interval, as a fraction of the median."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else float("inf")

    def to_json(self) -> dict[str, float]:
        """As it stands in result files."""
        return {"median": self.median, "low": self.low, "high": self.high, "rounds": self.count}


def median_interval(values: Sequence[float], seed: int = 1) -> Interval:
    """The median of `values` (at least one) and how well it is known."""
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("no values")
    picks = np.random.default_rng(seed).integers(0, data.size, (RESAMPLES, data.size))
    medians = np.median(data[picks], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Interval(float(np.median(data)), float(low), float(high), int(data.size))


def clustered_interval(clusters: Sequence[Sequence[float]], seed: int = 1) -> Interval:
    """The same of values that were measured in several starts of a job, a cluster each. Those of one start have much in
    common, such as where its memory lies: so starts are drawn first, then values of each."""
    groups = [np.asarray(cluster, dtype=float) for cluster in clusters if len(cluster)]
    values = [value for group in groups for value in group.tolist()]
    if len(groups) < 2:
        return median_interval(values, seed)
    random = np.random.default_rng(seed)
    widest = max(group.size for group in groups)
    drawn = np.full((RESAMPLES, len(groups), widest), np.nan)
    chosen = random.integers(0, len(groups), (RESAMPLES, len(groups)))
    for number, group in enumerate(groups):
        resamples, slots = np.nonzero(chosen == number)
        drawn[resamples, slots, : group.size] = group[random.integers(0, group.size, (slots.size, group.size))]
    medians = np.nanmedian(drawn.reshape(RESAMPLES, -1), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Interval(float(np.median(values)), float(low), float(high), len(values))


def paired_ratio(a_rounds: Sequence[float], b_rounds: Sequence[float], minimum: int = PAIRS_FOR_A_CLAIM) -> Interval:
    """The median over rounds of a/b, for values measured in the same rounds.

    Rounds are paired by position; the longer list's rest is dropped. Fewer than `minimum` pairs are
    an error: a claim needs 30.
    """
    pairs = list(zip(a_rounds, b_rounds, strict=False))
    if len(pairs) < minimum:
        raise ValueError(f"{len(pairs)} rounds, {minimum} needed")
    return median_interval([a / b for a, b in pairs])


def bucket_value(bucket: int) -> float:
    """The middle, in nanoseconds, of a bucket of bench/harness/histogram.hpp."""
    if bucket < 128:
        return float(bucket)
    shift = bucket // 64 - 1
    return float(((bucket - shift * 64) << shift) + ((1 << shift) - 1) / 2)


def percentiles(histogram: Counter[int], wanted: Sequence[float]) -> list[float]:
    """Percentiles (0 to 100) of a merged histogram, in nanoseconds."""
    buckets = sorted(histogram)
    reached = np.cumsum([histogram[b] for b in buckets])
    places = np.searchsorted(reached, [p / 100 * reached[-1] for p in wanted])
    return [bucket_value(buckets[min(int(i), len(buckets) - 1)]) for i in places]

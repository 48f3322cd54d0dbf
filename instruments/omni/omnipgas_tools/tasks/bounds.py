# SPDX-License-Identifier: BSD-3-Clause
"""Values of which sometimes only bounds are known, and their medians.

A series of task sizes ends somewhere, so the smallest efficient task may lie below all that were run, or above. Such a
result is censored: it says where the value is not, and has no place of its own in a median of numbers. But the median
of values that lie between bounds lies between the median of the lower bounds and the median of the upper ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000


@dataclass(frozen=True)
class Bounds:
    """A value between two numbers, which may be 0 and infinity; the same one twice: it is known."""

    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high

    def text(self, digits: int = 3) -> str:
        """As a table has it: 1.2, < 0.3, > 40, 0.3 to 40, or ? if nothing is known."""
        low, high = (f"{value:.{digits}g}" for value in (self.low, self.high))
        if self.known or low == high:
            return low
        if self.low == 0:
            return "?" if math.isinf(self.high) else f"< {high}"
        return f"> {low}" if math.isinf(self.high) else f"{low} to {high}"

    def to_json(self) -> dict[str, float | None]:
        """Of a result file; none for infinity."""
        return {"low": self.low, "high": None if math.isinf(self.high) else self.high}

    def over(self, other: "Bounds") -> "Bounds":
        """The quotient of two positive values."""
        low = 0.0 if math.isinf(other.high) else self.low / other.high
        return Bounds(low, math.inf if other.low == 0 else self.high / other.low)


UNKNOWN = Bounds(0.0, math.inf)


def exactly(value: float) -> Bounds:
    """A known value."""
    return Bounds(value, value)


def median(values: Sequence[Bounds]) -> Bounds:
    """Bounds of the median."""
    return Bounds(*(float(np.median([getattr(one, end) for one in values])) for end in ("low", "high")))


def interval(values: Sequence[Bounds], seed: int = 1) -> Bounds:
    """Bounds of the 95 % bootstrap interval of the median."""
    picks = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    lows, highs = (np.median(np.array([getattr(one, end) for one in values])[picks], axis=1) for end in ("low", "high"))
    return Bounds(float(np.percentile(lows, 2.5, method="lower")), float(np.percentile(highs, 97.5, method="higher")))


@dataclass(frozen=True)
class Point:
    """One size of tasks."""

    granularity: float  # the cores' time for each task
    efficiency: float  # of the peak


def smallest_efficient(points: Sequence[Point], wanted: float) -> Bounds:
    """METG: the smallest granularity at which the efficiency is what is wanted (Slaughter et al., "Task Bench", SC
    2020). Points in the order of their work, the least first. Between the first point that is efficient enough and
    the one before, efficiency is taken as linear in the logarithm of the granularity."""
    at = next((index for index, point in enumerate(points) if point.efficiency >= wanted), None)
    if at is None:
        return Bounds(points[-1].granularity, math.inf) if points else UNKNOWN
    first = points[at]
    if at == 0:
        return Bounds(0.0, first.granularity)
    before = points[at - 1]
    part = (wanted - before.efficiency) / (first.efficiency - before.efficiency)
    logarithm = math.log(before.granularity) + part * math.log(first.granularity / before.granularity)
    return exactly(math.exp(logarithm))

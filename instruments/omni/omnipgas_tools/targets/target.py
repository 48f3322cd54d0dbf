# SPDX-License-Identifier: BSD-3-Clause
"""A target: a name, a bound, and the measured value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from omnipgas_tools.measure import stats


@dataclass(frozen=True)
class Target:
    """A bound and the value beside it. The result file holds these fields."""

    name: str
    value: float | None = None  # None: could not be measured; `note` says why
    bound: float | None = None  # None: reported, whatever it is
    at_most: bool = True  # the bound is an upper one
    low: float | None = None  # 95 % bootstrap interval, where there is one
    high: float | None = None
    unit: str = ""
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the median keeps the bound; without one, whether there is a value."""
        if self.value is None:
            return False
        if self.bound is None:
            return True
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def line(self) -> str:
        """Name, value, bound, met or missed."""
        value = "not measured" if self.value is None else f"{self.value:.3g}"
        if self.low is not None and self.high is not None:
            value += f" [{self.low:.3g}, {self.high:.3g}]"
        note = f"  ({self.note})" if self.note else ""
        if self.bound is None:
            return f"{self.name:<66} {value:>24} {self.unit:<4} no bound{note}"
        sign = "<=" if self.at_most else ">="
        verdict = "met" if self.met else "missed"
        return f"{self.name:<66} {value:>24} {self.unit:<4} {sign} {self.bound:<6g} {verdict}{note}"

    def missing(self, why: str) -> Self:
        """This target as one that could not be measured, and why."""
        return replace(self, unit="", note=why)

    def found(self, value: float, note: str = "") -> Self:
        """This target with its value."""
        return replace(self, value=value, note=note)

    def within(self, middle: stats.Interval, note: str = "") -> Self:
        """This target with a median and its interval."""
        return replace(self, value=middle.median, low=middle.low, high=middle.high, note=note)

    def ratio(self, mine: Sequence[float], other: Sequence[float], note: str = "") -> Self:
        """This target with the median of mine / other over rounds that were measured in turn."""
        try:
            return replace(self.within(stats.paired_ratio(mine, other), note), unit="x")
        except ValueError as error:
            return self.missing(str(error))


def at_most(name: str, bound: float | None, unit: str = "") -> Target:
    """A target with an upper bound, not yet measured."""
    return Target(name, bound=bound, unit=unit)


def at_least(name: str, bound: float | None, unit: str = "") -> Target:
    """A target with a lower bound, not yet measured."""
    return Target(name, bound=bound, at_most=False, unit=unit)

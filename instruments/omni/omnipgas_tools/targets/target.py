# SPDX-License-Identifier: BSD-3-Clause
"""A figure and its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnipgas_tools.measure import stats


@dataclass(frozen=True)
class Target:
    """One measured value and its bound."""

    name: str
    value: float | None  # None: could not be measured; `note` says why
    bound: float | None  # None: reported, whatever it is
    at_most: bool  # the bound is an upper one
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


def missing(name: str, bound: float | None, at_most: bool, why: str) -> Target:
    """A figure that could not be measured, and why."""
    return Target(name, None, bound, at_most, note=why)


def interval(name: str, mine: Sequence[float], other: Sequence[float], bound: float | None, at_most: bool) -> Target:
    """The median of mine / other over rounds that were measured in turn."""
    try:
        ratio = stats.paired_ratio(mine, other)
    except ValueError as error:
        return missing(name, bound, at_most, str(error))
    return Target(name, ratio.median, bound, at_most, ratio.low, ratio.high, "x")

# SPDX-License-Identifier: BSD-3-Clause
"""The tests of section 4.2 of the LogGPS paper: what the model takes for granted of the curves."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from omnipgas_tools.model.fit import breakpoints
from omnipgas_tools.model.fit.curves import INTERVAL, Array, Curves, Estimate, Lengths
from omnipgas_tools.model.fit.least_squares import solve


@dataclass(frozen=True)
class Test:
    """A property that the model rests on, tested: section 4.2."""

    name: str
    estimate: Estimate
    statistic: float  # the estimate over its standard error
    holds: bool
    meaning: str


def _line(k: Array, y: Array, *more: Array) -> Array:
    return solve(np.column_stack([np.ones_like(k), k, *more]), y, bounded=False)


def _jump(k: Array, y: Array, s: int, S: int) -> float:
    """D of figure 5: by a line above S, and below it one that may bend at s."""
    low, high = k <= S, k > S
    bend = [np.maximum(0, k[low] - s)] if s < S else []
    below, above = _line(k[low], y[low], *bend), _line(k[high], y[high])
    at = np.array([1.0, S, *([S - s] if bend else [])])
    return float(above @ at[:2] - below @ at)


def test_all(whole: Curves, picks: list[Curves], lengths: Lengths) -> list[Test]:
    """Those for which there are lengths enough; `picks` are the bootstrap's."""
    s, S = lengths.pair
    short = whole.k <= S
    k = whole.k[short]
    out = []
    if len(k) >= breakpoints.LEAST_POINTS:
        out.append(
            _test(
                "slope", "ns/byte", whole, picks, lambda c: float(_line(k, c.hidden[short])[1]),
                nonzero=True, meaning="slope of short messages behind a long computation, Oss + Ors, is not 0:"
                " overheads depend on the length (D3)",
            )
        )  # fmt: skip
    enough = min((k <= s).sum(), (k > s).sum()) >= breakpoints.LEAST_POINTS
    if lengths.s is not None and enough:
        step, bend = (k > s).astype(float), np.maximum(0, k - s)
        out.append(
            _test(
                "continuity", "ns", whole, picks, lambda c: float(_line(k, c.hidden[short], step, bend)[2]),
                nonzero=False, meaning="step at s behind a long computation is 0: one o' on both sides, T2' ="
                " s Gs + (k - s) Gl + L",
            )
        )  # fmt: skip
        out.append(
            _test(
                "bend", "ns/byte", whole, picks, lambda c: -float(_line(k, c.base[short], bend)[2]) / 2,
                nonzero=True, meaning="Gs - Gl is not 0 (D2)",
            )
        )  # fmt: skip
    if lengths.S is not None and min(short.sum(), (~short).sum()) >= breakpoints.LEAST_POINTS:
        out.append(
            _test(
                "D(0)", "ns", whole, picks, lambda c: _jump(c.k, c.base, s, S),
                nonzero=True, meaning="the curve without computation jumps at S: longer messages synchronize (D1)",
            )
        )  # fmt: skip
        out.append(
            _test(
                "D(W)", "ns", whole, picks, lambda c: _jump(c.k, c.hidden, S, S),
                nonzero=True, meaning="so does the one behind a long computation: longer messages wait for it (D1)",
            )
        )  # fmt: skip
    return out


def _test(
    name: str, unit: str, whole: Curves, picks: list[Curves], figure: Any, *, nonzero: bool, meaning: str
) -> Test:
    """Whether a figure is other than 0: whether its interval leaves 0 out."""
    value, several = figure(whole), np.array([figure(c) for c in picks])
    low, high = (float(v) for v in np.percentile(several, INTERVAL))
    deviation = float(several.std(ddof=1))
    estimate = Estimate(value, low, high, unit)
    statistic = value / deviation if deviation > 0 else float("inf")
    return Test(name, estimate, statistic, (low > 0 or high < 0) == nonzero, meaning)

# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of every model from the measurements of one operation (LogGPS paper, sections 4.1 and 4.2).

All equations at once: round trips without computation and behind a long one at every length, and T1 at the longest
lengths of the short messages. docs/how-to/model-fit.md says what is done where the paper leaves it open.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnipgas_tools.model.fit import assumptions, breakpoints, segments
from omnipgas_tools.model.fit.curves import INTERVAL, Array, Curves, Estimate, Lengths, medians
from omnipgas_tools.model.fit.equations import LOGGOPS, LOGGP2, LOGGPS, NEVER, Model
from omnipgas_tools.model.fit.least_squares import solve, unidentified
from omnipgas_tools.model.fit.measurements import Measurements

RESAMPLES = 200
SAME_GAP = 0.05  # of the first send: later ones that take no more than this longer show no gap
LIKE = {"Osl": "Oss", "Orl": "Ors", "Gl": "Gs"}  # what is taken where nothing was measured


@dataclass
class Fit:
    """All that can be said of one operation."""

    measurements: Measurements
    lengths: Lengths
    s: Estimate
    S: Estimate
    by_curves: Lengths  # s and S by least squares of the curves alone
    values: dict[str, dict[str, Estimate]] = field(default_factory=dict)  # by model and name
    rows: list[dict[str, float]] = field(default_factory=list)  # LogGP-1, of each length
    curve: segments.Curve | None = None
    unidentified: list[str] = field(default_factory=list)
    sums: list[str] = field(default_factory=list)
    tests: list[assumptions.Test] = field(default_factory=list)
    gaps: list[dict[str, Any]] = field(default_factory=list)  # of consecutive sends
    o_contains_g: bool | None = None
    errors: dict[str, dict[str, float]] = field(default_factory=dict)  # of each curve, relative

    def parameters(self, model: Model) -> Array:
        """In the order of its rows."""
        return np.array([self.values[model.name][name].value for name in model.names])


def find_lengths(m: Measurements, curves: Curves) -> Lengths:
    """S by which sends waited if that was looked at, else by the jump of the curves; s by the bend below it.

    If a receiver that is in the library lets longer messages through than one that computes, there are two lengths that
    could be S: that is taken under which the model is nearer to the curves.
    """
    if len(m.lengths) == 1:
        return Lengths(None, None)
    if m.operation != "send":
        return _with_bend(curves, None)  # nothing waits for a receiver
    if not m.waiting and m.eager_up_to is None:
        return Lengths(*breakpoints.find_both(curves.k, curves.base, curves.hidden))
    several = [_with_bend(curves, S) for S in dict.fromkeys((m.eager_up_to, m.unmatched_up_to)) if S is not None]
    if len(several) < 2:
        return several[0] if several else _with_bend(curves, None)
    return min(several, key=lambda lengths: _misfit(curves, lengths))


def _misfit(curves: Curves, lengths: Lengths) -> float:
    """Mean relative error of the model on the curves."""
    a, y, _ = equations(LOGGPS, curves, lengths)
    return float(np.abs(a @ _solve(LOGGPS, curves, lengths) / y - 1).mean())


def _with_bend(curves: Curves, S: int | None) -> Lengths:
    short = curves.k <= (NEVER if S is None else S)
    if short.sum() < 2 * breakpoints.LEAST_POINTS:
        return Lengths(None, S)
    return Lengths(breakpoints.find_bend(curves.k[short], curves.base[short]).at, S)


def equations(model: Model, curves: Curves, lengths: Lengths) -> tuple[Array, Array, Array]:
    """The rows, what was measured for each, and columns that would let base and hidden begin anew above S."""
    s, S = lengths.pair
    rows = [model.rows(int(k), s, S) for k in curves.k]
    above = (curves.k > S).astype(float)
    top = min(float(S), float(curves.k[-1]))
    near = (curves.k > top / 2) & (curves.k <= top) if model is LOGGPS else np.zeros(len(rows), dtype=bool)
    a = [row.base for row in rows] + [row.hidden for row in rows]
    a += [row.send for row, wanted in zip(rows, near, strict=True) if wanted]
    y = np.concatenate([curves.base, curves.hidden, curves.send[near]])
    free = np.zeros((len(a), 2))
    free[: len(rows), 0] = above
    free[len(rows) : 2 * len(rows), 1] = above
    return np.array(a), y, free


def fit(m: Measurements, resamples: int = RESAMPLES, seed: int = 1) -> Fit:
    """Everything from one operation's measurements; raises DataError."""
    m.check()
    whole = medians(m)
    lengths = find_lengths(m, whole)
    draw = np.random.default_rng(seed)
    count = len(m.base)
    picks = [medians(m, draw.integers(0, count, count)) for _ in range(resamples)]
    found = [find_lengths(m, curves) for curves in picks]
    by_curves = lengths if m.operation != "send" else Lengths(*breakpoints.find_both(whole.k, whole.base, whole.hidden))
    out = Fit(m, lengths, _length("s", lengths.s, lengths, found), _length("S", lengths.S, lengths, found), by_curves)
    for model in (LOGGPS, LOGGP2, LOGGOPS):
        samples = np.array([_solve(model, *pair) for pair in zip(picks, found, strict=True)])
        out.values[model.name] = _estimates(out, model, whole, samples)
    _add_gap(out, draw, resamples)
    out.rows = _loggp1(out, whole)
    out.curve = segments.find(whole, lengths, picks)
    if len(m.lengths) > 1:
        out.tests = assumptions.test_all(whole, picks, lengths)
    out.errors = errors(out)
    return out


def _solve(model: Model, curves: Curves, lengths: Lengths, bounded: bool = True) -> Array:
    a, y, _ = equations(model, curves, lengths)
    values = solve(a, y, bounded)
    for name, like in LIKE.items():
        if name in model.names and not a[:, i := model.names.index(name)].any():
            values[i] = values[model.names.index(like)]
    return values


def _length(name: str, value: int | None, lengths: Lengths, found: list[Lengths]) -> Estimate:
    s, S = lengths.pair
    if value is None:
        if name == "S":
            return Estimate(S, S, S, "bytes", False, "no message waited for its receiver")
        return Estimate(s, s, s, "bytes", False, "no bend of the curve below S: s = S is taken")
    several = [float(v) for one in found if (v := getattr(one, name)) is not None]
    low, high = np.percentile([*several, float(value)], INTERVAL)
    return Estimate(value, float(min(low, value)), float(max(high, value)), "bytes")


def _estimates(out: Fit, model: Model, curves: Curves, samples: Array) -> dict[str, Estimate]:
    a, _, free = equations(model, curves, out.lengths)
    values = _solve(model, curves, out.lengths)
    unbounded = _solve(model, curves, out.lengths, bounded=False)
    lost, sums = unidentified(np.hstack([a, free[:, free.any(axis=0)]]), model.names)
    if model is LOGGPS:
        out.unidentified, out.sums = lost, sums
    estimates = {}
    for i, name in enumerate(model.names):
        low, high = np.percentile(samples[:, i], INTERVAL) if len(samples) else (np.nan, np.nan)
        note = ""
        if name in lost:
            known = [text for text in sums if name in text.split(" + ")]
            note = f"only {known[0]} is identified" if known else "nothing that was measured depends on it"
        elif values[i] == 0 and unbounded[i] < 0:
            note = f"at its bound: without bounds least squares gives {unbounded[i]:.4g}"
        value = float(values[i])
        estimates[name] = Estimate(
            value, float(min(low, value)), float(max(high, value)), model.units[name], name not in lost, note
        )
    return estimates


def _add_gap(out: Fit, draw: np.random.Generator, resamples: int) -> None:
    """g: by how much longer a send takes that follows another."""
    s, _ = out.lengths.pair
    spacing = []
    for text, block in out.measurements.bursts.items():
        if int(text) > s:
            continue
        first, later = (np.asarray(block[name], dtype=float) for name in ("first", "later"))
        picks = draw.integers(0, len(first), (max(resamples, 1), len(first)))
        more = np.median(later[picks] - first[picks], axis=1)
        low, high = (float(v) for v in np.percentile(more, INTERVAL))
        more_ns = float(np.median(later - first))
        spacing.append((int(text), float(np.median(later)), *(float(v) for v in np.percentile(later, INTERVAL))))
        out.gaps.append({
            "bytes": int(text), "first_ns": float(np.median(first)), "later_ns": float(np.median(later)),
            "more_ns": more_ns, "low": low, "high": high,
            "contained": low <= SAME_GAP * float(np.median(first)),
        })  # fmt: skip
    if spacing:
        out.o_contains_g = all(gap["contained"] for gap in out.gaps)
        _, value, low, high = min(spacing)
        out.values["loggops"]["g"] = Estimate(value, low, high, "ns", True, "from one consecutive send to the next")
    else:
        o = out.values["loggops"]["o"]
        out.values["loggops"]["g"] = Estimate(o.value, o.low, o.high, "ns", False, "not measured: o is taken")


def _loggp1(out: Fit, curves: Curves) -> list[dict[str, float]]:
    """o of send and receive, G, at each length, the handshake within o; L from the shortest."""
    half = curves.base / 2
    wire = max(0.0, float(half[0] - curves.send[0] - curves.receive[0]))
    out.values["loggp-1"] = {"L": Estimate(wire, wire, wire, "ns", True, "from the shortest message")}
    rows = []
    for i, k in enumerate(curves.k):
        room = max(0.0, float(half[i]) - wire)
        send = min(float(curves.send[i]), room)
        receive = min(float(curves.receive[i]), room - send)
        gap = (room - send - receive) / k if k else 0.0
        rows.append({"bytes": int(k), "o_send": send, "o_recv": receive, "G": gap})
    return rows


def errors(out: Fit) -> dict[str, dict[str, float]]:
    """Of the LogGPS parameters, and of the segments, on what was measured: median and worst relative error of each
    curve."""
    values, (s, S) = out.parameters(LOGGPS), out.lengths.pair
    m, curves = out.measurements, medians(out.measurements)
    rows = [LOGGPS.rows(k, s, S) for k in m.lengths]
    compared = {
        "base": (np.array([row.base @ values for row in rows]), curves.base),
        "hidden": (np.array([row.hidden @ values for row in rows]), curves.hidden),
    }
    for work, by_length in m.several.items():
        seen = np.array([np.median(by_length[text]) for text in by_length])
        said = np.array([LOGGPS.predict(values, int(text), s, S, float(work)) for text in by_length])
        compared[f"w = {float(work):.0f} ns"] = (said, seen)
    fresh = [int(k) for k in m.fresh]
    seen = np.array([np.median(values) for values in m.fresh.values()])
    if fresh:
        compared["fresh ping-pong"] = (np.array([LOGGPS.rows(k, s, S).base @ values for k in fresh]), seen)
    if out.curve is not None:
        compared["base by curve"] = (2 * np.array([out.curve.one_way(k, S) for k in m.lengths]), curves.base)
        if fresh:
            compared["fresh ping-pong by curve"] = (2 * np.array([out.curve.one_way(k, S) for k in fresh]), seen)
    found = {}
    for name, (said, seen) in compared.items():
        error = np.abs(said / seen - 1)
        found[name] = {"median": float(np.median(error)), "worst": float(error.max())}
    return found

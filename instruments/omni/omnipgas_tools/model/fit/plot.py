# SPDX-License-Identifier: BSD-3-Clause
"""Figures 4 and 5 of the LogGPS paper: the round trip against the length, measured (points) and modelled (lines), for
each computation w."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from omnipgas_tools.model.fit.equations import LOGGPS
from omnipgas_tools.model.fit.fitting import Fit
from omnipgas_tools.report.picture import save
from omnipgas_tools.report.terminal import size_text

FORMATS = (".png", ".svg")
POINTS = 400  # of a line


def plot(path: Path, title: str, fit: Fit) -> None:
    """Left the round trips, logarithmic; right, around S and linear as in the paper, what they take beyond w."""
    figure = Figure(figsize=(11, 4.5), layout="tight")
    axes = figure.subplots(1, 2)
    s, S = fit.lengths.pair
    longest = fit.measurements.lengths[-1]
    near = min(longest, 4 * (s if longest < S else S))
    axes[0].set_xscale("log", base=2)
    axes[0].set_yscale("log")
    for axis, top in zip(axes, (longest, near), strict=True):
        _curves(axis, fit, top, less_work=axis is axes[1])
        for name, at in (("s", s), ("S", S)):
            if at <= top:
                axis.axvline(at, color="0.7", linewidth=0.8)
                axis.annotate(name, (at, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom")
        axis.set_xlabel("message length [bytes]")
    axes[0].xaxis.set_major_formatter(FuncFormatter(lambda k, _: size_text(round(k)) if k >= 1 else ""))
    axes[0].set_ylabel("round trip [us]")
    axes[1].set_ylabel("round trip less w [us]")
    axes[1].set_ylim(bottom=0)
    axes[0].legend(fontsize=8)
    figure.suptitle(f"{title}: measured (points) and LogGPS (lines)")
    save(figure, path)


def _curves(axis: Axes, fit: Fit, top: int, less_work: bool) -> None:
    m, values, (s, S) = fit.measurements, fit.parameters(LOGGPS), fit.lengths.pair
    corners = {k for at in (s, S) for k in (at, at + 1) if k <= top}
    lines = sorted(corners.union(np.geomspace(max(m.lengths[0], 1), top, POINTS).astype(int).tolist()))

    def draw(color: int, label: str, work: float, seen: dict[int, float], said: list[float]) -> None:
        known = {k: v for k, v in seen.items() if k <= top}
        less = work if less_work else 0.0
        axis.plot(list(known), (np.array(list(known.values())) - less) / 1e3, ".", color=f"C{color}")
        axis.plot(lines, (np.array(said) - less) / 1e3, "-", color=f"C{color}", linewidth=1, label=label)

    def medians(name: str) -> dict[int, float]:
        return dict(zip(m.lengths, np.median(m.matrix(name), axis=0).tolist(), strict=True))

    rows = [LOGGPS.rows(k, s, S) for k in lines]
    draw(0, "w = 0", 0, medians("base"), [float(row.base @ values) for row in rows])
    draw(1, "w long, less w", 0, medians("hidden"), [float(row.hidden @ values) for row in rows])
    for color, (text, by_length) in enumerate(m.several.items(), 2):
        work = float(text)
        seen = {int(k): float(np.median(v)) for k, v in by_length.items()}
        said = [LOGGPS.predict(values, k, s, S, work) for k in lines]
        draw(color, f"w = {work / 1e3:g} us", work, seen, said)

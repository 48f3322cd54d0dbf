# SPDX-License-Identifier: BSD-3-Clause
"""Figures 4 and 5 of the LogGPS paper: the round trip against the length, measured (points) and modelled (lines), for
each computation w."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from omnipgas.model.equations import LOGGPS
from omnipgas.model.fitting import Fit
from omnipgas.report import size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg")
POINTS = 400  # of a line


def plot(path: Path, title: str, fit: Fit) -> None:
    """Left with logarithmic axes; right, as in the paper, linear ones around S."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    s, S = fit.lengths.pair
    longest = fit.measurements.lengths[-1]
    near = min(longest, 4 * (s if longest < S else S))
    for axis, top in zip(axes, (longest, near), strict=True):
        _curves(axis, fit, top)
        for name, at in (("s", s), ("S", S)):
            if at <= top:
                axis.axvline(at, color="0.7", linewidth=0.8)
                axis.annotate(name, (at, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom")
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value)) if value >= 1 else ""))
        axis.set_xlabel("message length")
        axis.set_ylim(bottom=0 if axis is axes[1] else None)
    axes[0].set_xscale("log", base=2)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("round trip [us]")
    axes[0].legend(fontsize=8)
    figure.suptitle(f"{title}: round trip, measured (points) and LogGPS (lines)")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _curves(axis: Axes, fit: Fit, top: int) -> None:
    m, values, (s, S) = fit.measurements, fit.parameters(LOGGPS), fit.lengths.pair
    low = max(m.lengths[0], 1)
    corners = {k for at in (s, S) for k in (at, at + 1) if k <= top}
    lines = sorted(corners.union(np.geomspace(low, top, POINTS).astype(int).tolist()))
    known = [i for i, k in enumerate(m.lengths) if k <= top]
    lengths = [m.lengths[i] for i in known]

    def draw(color: int, label: str, k: list[int], seen: list[float], said: list[float]) -> None:
        axis.plot(k, np.array(seen) / 1e3, ".", color=f"C{color}")
        axis.plot(lines, np.array(said) / 1e3, "-", color=f"C{color}", linewidth=1, label=label)

    rows = [LOGGPS.rows(k, s, S) for k in lines]
    base, hidden = (np.median(m.matrix(name), axis=0)[known].tolist() for name in ("base", "hidden"))
    draw(0, "w = 0", lengths, base, [float(row.base @ values) for row in rows])
    draw(1, "w long, less w", lengths, hidden, [float(row.hidden @ values) for row in rows])
    for color, (work, by_length) in enumerate(m.several.items(), 2):
        seen = {int(k): float(np.median(v)) for k, v in by_length.items() if int(k) <= top}
        said = [LOGGPS.predict(values, k, s, S, float(work)) for k in lines]
        draw(color, f"w = {float(work) / 1e3:g} us", list(seen), list(seen.values()), said)

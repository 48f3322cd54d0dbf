# SPDX-License-Identifier: BSD-3-Clause
"""The study's plot: the paper's figures 2 and 3, and its two explanations of them. Each panel says what is measured
and what modelled."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from omnipgas_tools.report.picture import save
from omnipgas_tools.study import tables
from omnipgas_tools.study.plan import BASE, PARTITIONS, SERIES, WORKS
from omnipgas_tools.study.tables import Found

STYLES = {"fix": "o-", "metis": "s--"}


def plot(path: Path, found: Found) -> None:
    """Writes it; a panel of what was left out is empty."""
    figure = Figure(figsize=(11, 8), layout="tight")
    axes = figure.subplots(2, 2)
    for axis, work, title in ((axes[0][0], "spmv", "SpMV (figure 2)"), (axes[0][1], "cg", "CG (figure 3)")):
        _ratios(axis, found, work)
        axis.set_title(f"{title}, modelled")
    _neighbors(axes[1][0], found)
    _works(axes[1][1], found)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8)
    figure.suptitle(f"Halo exchange of {found['plan']['matrix'].partition('=')[2]}")
    save(figure, path)


def _ratios(axis: Axes, found: Found, work: str) -> None:
    """Each series over MPI on the same partition."""
    for number, (series, (strategy, kind)) in enumerate(SERIES.items()):
        points = [
            (parts, 100 * of)
            for parts in found["plan"]["parts"]
            if (of := tables.ratio(found, work, kind, parts, (strategy, BASE))) is not None
        ]
        if points:
            axis.plot(*zip(*points, strict=True), STYLES[series.partition("-")[2]], color=f"C{number}", label=series)
    axis.axhline(100, color="gray", linewidth=0.8)
    axis.set_xlabel("parts")
    axis.set_ylabel(f"percent of {found['plan']['mpi']} on the same partition")


def _neighbors(axis: Axes, found: Found) -> None:
    """Marks are reset for each neighbour: the gain over them."""
    if rings := tables.ring_gains(found):
        counts, gains, lows, highs = zip(*rings, strict=True)
        reach = np.abs(np.subtract((lows, highs), gains))
        axis.errorbar(
            counts, gains, yerr=reach, fmt="o-", capsize=3, color="C0", label="bare exchange on a ring, measured"
        )
    for number, (cut, kind) in enumerate(PARTITIONS.items(), 1):
        points = sorted(
            (one["quality"]["neighbours_mean"], gain)
            for one in found["partitions"].get("all", [])
            if one["partition"] == kind and (gain := tables.gain(found, "spmv", kind, one["parts"])) is not None
        )
        if points:
            axis.plot(*zip(*points, strict=True), "x", color=f"C{number}", label=f"SpMV, {cut}, modelled")
    axis.set_title("Double buffering over plain RDMA by neighbours")
    axis.set_xlabel("neighbours of a part")
    axis.set_ylabel("gain [%]")


def _works(axis: Axes, found: Found) -> None:
    """A sum over all ranks synchronises anyway: the gain with one, with two, and without."""
    for number, work in enumerate(WORKS):
        for cut, kind in PARTITIONS.items():
            points = [
                (parts, gain)
                for parts in found["plan"]["parts"]
                if (gain := tables.gain(found, work, kind, parts)) is not None
            ]
            if points:
                axis.plot(*zip(*points, strict=True), STYLES[cut], color=f"C{number}", label=f"{work}, {cut}")
    axis.set_title("Double buffering over plain RDMA by work, modelled")
    axis.set_xlabel("parts")
    axis.set_ylabel("gain [%]")

# SPDX-License-Identifier: BSD-3-Clause
"""Breakdown and timeline as pictures: PNG, SVG or PDF by the file's suffix."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from omnipgas_tools.model.timelines import PARTS, Timeline, lanes
from omnipgas_tools.report.picture import save

COLORS = {"compute": "#2c6cab", "overhead": "#7fbfea", "send_wait": "#eda20c", "recv_wait": "#c9481d"}
WIDTH = 9.0  # inches
MOST_BARS = 64
COLUMNS = 1200  # of a lane with more intervals than that
MOST_MESSAGES = 400
MOST_LANES = 256


def breakdown(path: Path, prediction: dict[str, Any]) -> None:
    """A stacked bar for each rank, or for groups of ranks (their mean)."""
    ranks = prediction["per_rank"]
    groups = np.array_split(np.arange(len(ranks)), min(len(ranks), MOST_BARS))
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes = figure.subplots()
    bottom = np.zeros(len(groups))
    for part, name in PARTS.items():
        mean = np.array([np.mean([ranks[rank][part] for rank in group]) for group in groups])
        middles, widths = [group.mean() for group in groups], [0.8 * len(group) for group in groups]
        axes.bar(middles, mean, widths, bottom, color=COLORS[part], label=name)
        bottom += mean
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("rank" if len(groups) == len(ranks) else "rank (each bar: the mean of several)")
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    finish(path, figure, axes, prediction)


def timeline(path: Path, prediction: dict[str, Any], drawn: Timeline) -> None:
    """A lane for each rank or thread; messages as lines if they are few."""
    total_ns = prediction["predicted_seconds"] * 1e9
    count = min(drawn.lanes, MOST_LANES)
    figure = Figure(figsize=(WIDTH, min(9.0, 1.2 + 0.32 * count)), layout="constrained")
    axes = figure.subplots()
    for number, (part, name) in enumerate(PARTS.items()):
        boxes = [box for one in range(count) for box in lane(drawn, one, number, total_ns)]
        axes.add_collection(PolyCollection(boxes, facecolors=COLORS[part], edgecolors="none", label=name))
    if len(drawn.messages) <= MOST_MESSAGES:
        ends = [[(m["begin"] / 1e9, m["peer"]), (m["end"] / 1e9, m["lane"])] for m in drawn.messages]
        axes.add_collection(LineCollection(ends, colors="#14171a", linewidths=0.5, alpha=0.7))
    axes.set_xlim(0, max(prediction["predicted_seconds"], 1e-12))
    axes.set_ylim(count - 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    what = "rank"
    if "per_thread" in prediction:
        what = "rank.thread"
        names = [name.removeprefix("rank ") for name, _ in lanes(prediction)]
        axes.yaxis.set_major_formatter(lambda at, _: names[int(at)] if 0 <= at < len(names) else "")
    axes.set_ylabel(what if count == drawn.lanes else f"{what} (the first {count} of {drawn.lanes})")
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    finish(path, figure, axes, prediction)


def lane(drawn: Timeline, number: int, part: int, total_ns: float) -> list[list[tuple[float, float]]]:
    """Boxes of one part of a lane's time. Of more intervals than there are columns, for each column how much of it
    that part has, above those before it."""
    mine = drawn.intervals[drawn.starts[number] : drawn.starts[number + 1]]
    if len(mine) <= COLUMNS:
        chosen = mine[mine["activity"] == part]
        return [box(one["begin"], one["end"], number - 0.4, number + 0.4) for one in chosen]
    edges = np.linspace(0, total_ns, COLUMNS + 1)
    ends = np.concatenate([[0], mine["end"]])
    below, above = (
        np.interp(edges, ends, np.concatenate([[0], np.cumsum(np.where(mine["activity"] < most, np.diff(ends), 0))]))
        for most in (part, part + 1)
    )
    low, high = (np.diff(sums) / np.diff(edges) for sums in (below, above))
    return [
        box(edges[i], edges[i + 1], number + 0.4 - 0.8 * high[i], number + 0.4 - 0.8 * low[i])
        for i in np.flatnonzero(high > low)
    ]


def box(begin_ns: float, end_ns: float, top: float, bottom: float) -> list[tuple[float, float]]:
    """Its corners."""
    begin, end = begin_ns / 1e9, end_ns / 1e9
    return [(begin, bottom), (begin, top), (end, top), (end, bottom)]


def finish(path: Path, figure: Any, axes: Any, prediction: dict[str, Any]) -> None:
    """Title, legend, file."""
    axes.set_title(f"{Path(prediction['input']).name} on {prediction['machine']}, {prediction['model']}", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(PARTS), frameon=False)
    save(figure, path, 150)

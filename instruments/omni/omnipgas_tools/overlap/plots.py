# SPDX-License-Identifier: BSD-3-Clause
"""Plots after figures 3 to 14 of the paper on progress threads: overlap (3, 4), computation (5, 6), pure communication
(7, 8) and the whole time (9 to 14) against the size, a row of panels for each p_node, small sizes beside large ones;
and overlap against the length of the computation."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from omnipgas_tools.measure.results import Result
from omnipgas_tools.overlap.plan import MODES, PAPER, SMALL
from omnipgas_tools.report.picture import save
from omnipgas_tools.report.plots import PANEL, sizes_below

KINDS = {
    "overlap_percent": "overlap [%]",
    "compute_us": "computation [us]",
    "pure_us": "pure communication [us]",
    "overall_us": "start, computation, wait [us]",
}
COLORS = {mode: f"C{index}" for index, mode in enumerate(MODES)}


def draw(folder: Path, rows: Sequence[Result]) -> Iterator[Path]:
    """Writes the plots of all libraries, collectives and algorithms into the folder; yields each."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = [row for row in rows if row["status"] == "ok"]
    for about, mine in _groups(measured, "library", "op", "algorithm", "kernel", "skew_us", "computation"):
        name = _name(*about)
        for kind, label in KINDS.items():
            yield _against_size(folder / f"{name}-{kind.removesuffix('_us')}.svg", mine, kind, label)
    for about, mine in _groups(measured, "library", "op", "algorithm", "kernel", "skew_us"):
        swept = [row for row in mine if row["computation"] != PAPER]
        if len({row["computation"] for row in swept}) > 1:
            yield _against_computation(folder / f"{_name(*about)}-sweep.svg", swept)


def _groups(rows: Sequence[Result], *names: str) -> Iterator[tuple[tuple[Any, ...], list[Result]]]:
    def key(row: Result) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    for about, mine in groupby(sorted(rows, key=key), key):
        yield about, list(mine)


def _name(library: str, collective: str, algorithm: str, kernel: str, skew_us: float, *computation: str) -> str:
    late = f"-late{skew_us:g}us" if skew_us else ""
    return "-".join([library, collective, algorithm, kernel, *computation]) + late


def _against_size(path: Path, rows: Sequence[Result], kind: str, label: str) -> Path:
    shares = sorted({row["p_node"] for row in rows})
    halves: list[tuple[str, Callable[[int], bool]]] = [
        (f"up to {SMALL} B", lambda size: size <= SMALL), (f"above {SMALL} B", lambda size: size > SMALL),
    ]  # fmt: skip
    figure = Figure(figsize=(2 * PANEL[0], PANEL[1] * len(shares) + 0.4))
    axes = figure.subplots(len(shares), 2, squeeze=False)
    for line, p_node in zip(axes, shares, strict=True):
        for axis, (title, fits) in zip(line, halves, strict=True):
            mine = [row for row in rows if row["p_node"] == p_node and fits(row["size"])]
            _lines(axis, mine, "size", kind)
            sizes_below(axis)
            axis.set_title(f"p_node {p_node}, {title}", fontsize=9)
            if kind != "overlap_percent":
                axis.set_yscale("log")
        line[0].set_ylabel(label)
    for axis in axes[-1]:
        axis.set_xlabel("size of a block [byte]")
    return _save(figure, axes[0][0], path, rows)


def _against_computation(path: Path, rows: Sequence[Result]) -> Path:
    sizes = sorted({row["size"] for row in rows})
    figure = Figure(figsize=(PANEL[0] * len(sizes), PANEL[1] + 0.4))
    axes = figure.subplots(1, len(sizes), squeeze=False)
    for axis, size in zip(axes[0], sizes, strict=True):
        mine = [row | {"ratio": float(row["computation"])} for row in rows if row["size"] == size]
        _lines(axis, mine, "ratio", "overlap_percent")
        axis.set_xscale("log", base=2)
        axis.set_title(f"{size} B", fontsize=9)
        axis.set_xlabel("computation / pure communication of mode none")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(KINDS["overlap_percent"])
    return _save(figure, axes[0][0], path, rows)


def _lines(axis: Axes, rows: Sequence[Result], across: str, kind: str) -> None:
    for mode in dict.fromkeys(row["mode"] for row in rows):
        mine = sorted((row for row in rows if row["mode"] == mode), key=lambda row: row[across])
        axis.plot(
            [row[across] for row in mine], [row[kind] for row in mine], marker=".", color=COLORS[mode], label=mode
        )


def _save(figure: Any, legend: Axes, path: Path, rows: Sequence[Result]) -> Path:
    handles, labels = legend.get_legend_handles_labels()
    about = ", ".join(dict.fromkeys(f"{row['op']} of {row['library']}" for row in rows))
    emulation = "; ".join(dict.fromkeys(row["emulation"] for row in rows if row["emulation"]))
    figure.suptitle(f"{about}\n{emulation}" if emulation else about, fontsize=8)
    figure.legend(handles, labels, loc="lower center", ncols=len(MODES), fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # texts that can be searched
        save(figure, path)
    return path

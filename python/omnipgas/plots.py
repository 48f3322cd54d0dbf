# SPDX-License-Identifier: BSD-3-Clause
"""Plots: after the papers' figures 2 to 9, latency and bandwidth against size for each thread count; halo
exchange; a solver's residuals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from omnipgas.report import size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from omnipgas.results import Result

STYLES = {"put": "-", "putsignal": "-.", "putonly": ":", "sendrecv": "--"}
MPIS = ("mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian")
PERCENTILES = {"p50": ("v", 0.5), "p99": ("^", 0.5)}  # marker, opacity
PANEL = (4.2, 3.2)  # inches
LEGEND_LINE = 0.17


def plot(path: Path, bench: str, results: list[Result], percentiles: bool = False) -> None:
    """Writes the figure of a result file; the suffix says PNG or SVG."""
    measured = [r for r in results if r["latency_us"] or r["rate_Mps"]]
    threads = sorted({r["threads"] for r in measured}) or [1]
    rows = ["latency_us", "bandwidth_MBps"] if bench == "pingpong" else ["rate_Mps"]
    columns = len(threads) if bench == "pingpong" else 1
    across = 2 * max(columns, 2)  # entries of the legend in a line
    lines = -(-len(_series(measured)) // across)
    foot = LEGEND_LINE * lines + 0.2
    height = PANEL[1] * len(rows) + foot
    figure, axes = plt.subplots(
        len(rows),
        columns,
        figsize=(PANEL[0] * max(columns, 2), height),
        squeeze=False,
        sharex=bench == "pingpong",
        sharey="row",
    )
    if bench != "pingpong":
        _rate(axes[0][0], measured)
    else:
        for column, count in enumerate(threads):
            mine = [r for r in measured if r["threads"] == count]
            _latency(axes[0][column], mine, percentiles)
            _bandwidth(axes[1][column], mine)
            axes[0][column].set_title(f"{count} thread{'s' if count > 1 else ''} per rank")
        axes[0][0].set_ylabel("latency [us], one way,\nslowest thread")
        axes[1][0].set_ylabel("bandwidth [MB/s],\nsum over threads")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=across, fontsize=8)
    figure.tight_layout(rect=(0, foot / height, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def endpoints(path: Path, results: list[Result]) -> None:
    """Mean latency and rate against the size of the pool, a line for each thread count; dashed: the best MPI."""
    figure, axes = plt.subplots(1, 2, figsize=(2 * PANEL[0], PANEL[1] + 0.6))


    def value(row: Result) -> float | None:
        found = row["latency_us"]["mean"] if row["latency_us"] else row["rate_Mps"]
        return float(found) if found else None

    panels = (("pingpong", "mean latency [us], one way", min), ("flow", "million messages per second", max))
    for axis, (bench, label, best) in zip(axes, panels, strict=True):
        measured = [r for r in results if r["bench"] == bench and value(r)]
        for color, threads in enumerate(sorted({r["threads"] for r in measured})):
            mine = [r for r in measured if r["threads"] == threads and r["library"].startswith("ompl ")]
            others = [v for r in measured if r["threads"] == threads and r["library"] in MPIS and (v := value(r))]
            mine.sort(key=lambda r: r["endpoints"])
            axis.plot([r["endpoints"] for r in mine], list(map(value, mine)), marker="o", color=f"C{color}",
                      label=f"{threads} thread{'s' if threads > 1 else ''}")  # fmt: skip
            if others:
                axis.axhline(best(others), color=f"C{color}", linestyle="--", linewidth=0.8)
        axis.set_xlabel("endpoints per rank")
        axis.set_ylabel(label)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8, title="dashed: the best MPI")
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def halo(path: Path, results: list[Result]) -> None:
    """The time of an exchange by each strategy, with its interval."""
    measured = [r for r in results if r["status"] == "ok"]
    figure, axis = plt.subplots(figsize=(6.5, 0.4 * max(3, len(measured)) + 0.9))
    found = [r["halo"]["exchange_us"] for r in measured]
    medians = [one["median"] for one in found]
    reach = [[one["median"] - one["low"] for one in found], [one["high"] - one["median"] for one in found]]
    axis.barh([r["op"] for r in measured], medians, xerr=reach, capsize=3, color="C0", alpha=0.7)
    axis.invert_yaxis()
    axis.set_xlabel("exchange on the slowest rank [us], median and 95 % interval")
    axis.grid(alpha=0.3, axis="x")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def residuals(path: Path, result: dict[str, Any]) -> None:
    """The history of a solver's residuals, and its tolerance."""
    figure, axis = plt.subplots(figsize=(6.4, 4.0))
    axis.semilogy(result["history"])
    axis.axhline(result["tolerance"], color="gray", linestyle=":")
    axis.set_xlabel("iteration")
    axis.set_ylabel("|r| / |b|")
    axis.set_title(f"{result['matrix']}, {result['precond']}")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _colors(results: list[Result]) -> dict[str, Any]:
    libraries = list(dict.fromkeys(r["library"] for r in results))
    return {library: f"C{i % 10}" for i, library in enumerate(libraries)}


def _series(results: list[Result]) -> dict[tuple[str, str], list[Result]]:
    series: dict[tuple[str, str], list[Result]] = {}
    for r in sorted(results, key=lambda r: (r["size"], r["threads"])):
        series.setdefault((r["library"], r["op"]), []).append(r)
    return series


def _latency(axis: Axes, results: list[Result], percentiles: bool) -> None:
    colors = _colors(results)
    for (library, op), rows in _series(results).items():
        sizes = [r["size"] for r in rows]
        look: dict[str, Any] = {"color": colors[library], "linestyle": STYLES[op], "linewidth": 1.2}
        means = [r["latency_us"]["slowest_thread_mean"] for r in rows]
        axis.plot(sizes, means, marker=".", label=f"{library} {op}", **look)
        for name, (marker, alpha) in PERCENTILES.items() if percentiles else ():
            values = [r["latency_us"][name] for r in rows]
            axis.plot(
                sizes, values, marker=marker, markersize=3, alpha=alpha, **{**look, "linewidth": 0.5}
            )
    axis.set_yscale("log")
    sizes_below(axis)


def _bandwidth(axis: Axes, results: list[Result]) -> None:
    colors = _colors(results)
    for (library, op), rows in _series(results).items():
        values = [r["bandwidth_MBps"] for r in rows]
        axis.plot(
            [r["size"] for r in rows], values, marker=".", color=colors[library], linestyle=STYLES[op]
        )
    axis.set_xlabel("size of a message [byte]")
    sizes_below(axis)


def sizes_below(axis: Axes) -> None:
    """Sizes in bytes as the horizontal axis."""
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(
        FuncFormatter(lambda size, _: size_text(int(size)).replace("iB", ""))
    )
    axis.grid(alpha=0.3)


def _rate(axis: Axes, results: list[Result]) -> None:
    colors = _colors(results)
    for (library, op), rows in _series(results).items():
        threads = [r["threads"] for r in rows]
        rates = [r["rate_Mps"] for r in rows]
        axis.plot(
            threads,
            rates,
            marker="o",
            color=colors[library],
            linestyle=STYLES[op],
            label=f"{library} {op}",
        )
    axis.set_xticks(sorted({r["threads"] for r in results}))
    axis.set_xlabel("threads")
    axis.set_ylabel("million messages per second")
    axis.set_yscale("log")
    axis.grid(alpha=0.3)

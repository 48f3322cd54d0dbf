# SPDX-License-Identifier: BSD-3-Clause
"""Plots: after the papers' figures 2 to 9, latency and bandwidth against size for each thread count; halo
exchange; a solver's residuals."""

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from omnipgas_tools.measure.results import Result
from omnipgas_tools.report.picture import save
from omnipgas_tools.report.terminal import size_text

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
    figure = Figure(figsize=(PANEL[0] * max(columns, 2), height))
    axes = figure.subplots(len(rows), columns, squeeze=False, sharex=bench == "pingpong", sharey="row")
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
    save(figure, path)


def endpoints(path: Path, results: list[Result]) -> None:
    """Mean latency and rate against the number of endpoints, a line for each thread count; a row of panels for each
    library of which it was chosen. Dashed: the best MPI."""
    swept = [r for r in results if r["library"].endswith(f" {r['endpoints']} ep") and _value(r)]
    names = list(dict.fromkeys(_of_pool(r) for r in swept))
    counts = sorted({r["threads"] for r in swept})
    height = PANEL[1] * max(1, len(names))
    figure = Figure(figsize=(2 * PANEL[0], height + 0.6))
    axes = figure.subplots(max(1, len(names)), 2, squeeze=False, sharey="col")
    panels = (("pingpong", "mean latency [us], one way", min), ("flow", "million messages per second", max))
    for row, name in zip(axes, names, strict=False):
        for axis, (bench, label, best) in zip(row, panels, strict=True):
            for color, threads in enumerate(counts):
                here = [r for r in results if (r["bench"], r["threads"]) == (bench, threads) and _value(r)]
                mine = [r for r in here if r in swept and _of_pool(r) == name]
                mine.sort(key=lambda r: int(r["endpoints"]))
                axis.plot([r["endpoints"] for r in mine], list(map(_value, mine)), marker="o", color=f"C{color}",
                          label=f"{threads} thread{'s' if threads > 1 else ''}")  # fmt: skip
                if others := [_value(r) for r in here if r["library"].split()[0] in MPIS]:
                    axis.axhline(best(others), color=f"C{color}", linestyle="--", linewidth=0.8)
            axis.set_title(name, fontsize=9)
            axis.set_xticks(sorted({r["endpoints"] for r in swept}))
            axis.set_xlabel("endpoints per rank")
            axis.set_ylabel(label)
            axis.set_yscale("log")
            axis.grid(alpha=0.3)
    handles, labels = axes[0][0].get_legend_handles_labels()
    foot = 0.5 / (height + 0.6)
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8, title="dashed: the best MPI")
    figure.tight_layout(rect=(0, foot, 1, 1))
    save(figure, path)


def _of_pool(row: Result) -> str:
    """The library whose number of endpoints was chosen, without that, and its operation."""
    library = str(row["library"]).removesuffix(f" {row['endpoints']} ep")
    return f"{library} {row['op']}"


def _value(row: Result) -> float:
    """What the plot of endpoints shows: mean latency, or rate; 0 if there is none."""
    return float((row["latency_us"] or {}).get("mean") or row["rate_Mps"] or 0)


def halo(path: Path, results: list[Result]) -> None:
    """The time of an exchange by each strategy, with its interval."""
    measured = [r for r in results if r["status"] == "ok"]
    figure = Figure(figsize=(6.5, 0.4 * max(3, len(measured)) + 0.9), layout="tight")
    axis = figure.subplots()
    found = [r["halo"]["exchange_us"] for r in measured]
    medians = [one["median"] for one in found]
    reach = [[one["median"] - one["low"] for one in found], [one["high"] - one["median"] for one in found]]
    axis.barh([r["op"] for r in measured], medians, xerr=reach, capsize=3, color="C0", alpha=0.7)
    axis.invert_yaxis()
    axis.set_xlabel("exchange on the slowest rank [us], median and 95 % interval")
    axis.grid(alpha=0.3, axis="x")
    save(figure, path)


def residuals(path: Path, result: dict[str, Any]) -> None:
    """The history of a solver's residuals, and its tolerance."""
    figure = Figure(figsize=(6.4, 4.0), layout="tight")
    axis = figure.subplots()
    axis.semilogy(result["history"])
    axis.axhline(result["tolerance"], color="gray", linestyle=":")
    axis.set_xlabel("iteration")
    axis.set_ylabel("|r| / |b|")
    axis.set_title(f"{result['matrix']}, {result['precond']}")
    save(figure, path)


def _series(results: list[Result]) -> dict[tuple[str, str], list[Result]]:
    series: dict[tuple[str, str], list[Result]] = {}
    for r in sorted(results, key=lambda r: (r["size"], r["threads"])):
        series.setdefault((r["library"], r["op"]), []).append(r)
    return series


def _lines(axis: Axes, results: list[Result], across: str, up: str, **look: Any) -> None:
    """One for each library and operation."""
    libraries = list(dict.fromkeys(r["library"] for r in results))
    for (library, op), rows in _series(results).items():
        color = f"C{libraries.index(library) % 10}"
        usual = {"marker": ".", "color": color, "linestyle": STYLES[op], "label": f"{library} {op}"}
        axis.plot([r[across] for r in rows], [r[up] for r in rows], **usual | look)


def _latency(axis: Axes, results: list[Result], percentiles: bool) -> None:
    rows = [r | r["latency_us"] for r in results]
    _lines(axis, rows, "size", "slowest_thread_mean", linewidth=1.2)
    for name, (marker, alpha) in PERCENTILES.items() if percentiles else ():
        _lines(axis, rows, "size", name, marker=marker, markersize=3, alpha=alpha, linewidth=0.5, label=None)
    axis.set_yscale("log")
    sizes_below(axis)


def _bandwidth(axis: Axes, results: list[Result]) -> None:
    _lines(axis, results, "size", "bandwidth_MBps")
    axis.set_xlabel("size of a message [byte]")
    sizes_below(axis)


def sizes_below(axis: Axes) -> None:
    """Sizes in bytes as the horizontal axis."""
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(int(size)).replace("iB", "")))
    axis.grid(alpha=0.3)


def _rate(axis: Axes, results: list[Result]) -> None:
    _lines(axis, results, "threads", "rate_Mps", marker="o")
    axis.set_xticks(sorted({r["threads"] for r in results}))
    axis.set_xlabel("threads")
    axis.set_ylabel("million messages per second")
    axis.set_yscale("log")
    axis.grid(alpha=0.3)


def bounds(path: Path, groups: dict[str, list[dict[str, Any]]]) -> None:
    """Each figure over its bound, a row for each group: up to 1 it is met. Figures without a bound, or with a bound or
    a value of 0, are left out."""
    figure = Figure(figsize=(7.0, 0.9 + 0.32 * max(1, len(groups))))
    axes = figure.subplots()
    for row, figures in enumerate(groups.values()):
        for one in figures:
            if not one["value"] or not one["bound"]:
                continue
            over = one["value"] / one["bound"] if one["at_most"] else one["bound"] / one["value"]
            marker, colour = ("o", "#1f77b4") if one["met"] else ("X", "#d95f02")
            axes.plot([over], [row], marker, color=colour, markersize=5, alpha=0.7)
    axes.axvline(1.0, color="#777777", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes.set_yticks(range(len(groups)), list(groups))
    axes.set_ylim(max(1, len(groups)) - 0.5, -0.5)
    axes.set_xlabel("figure over its bound (cross: missed)")
    figure.patch.set_facecolor("white")  # a page may be dark
    figure.tight_layout()
    with rc_context({"svg.hashsalt": path.name}):
        save(figure, path)

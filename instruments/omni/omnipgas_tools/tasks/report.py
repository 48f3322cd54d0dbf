# SPDX-License-Identifier: BSD-3-Clause
"""What was found: rows of the result file, a table, a plot."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import OK
from omnipgas_tools.report.terminal import figure, table_of
from omnipgas_tools.tasks import bounds
from omnipgas_tools.tasks.bounds import Point
from omnipgas_tools.tasks.rounds import Curve

SCHEMA = "omnipgas-tasks-1"
PANEL = (5.2, 3.8)  # inches


def row(curve: Curve, wanted: float) -> Result:
    """Of the result file: METG in microseconds, bounds of its median and of the interval of that, and every run."""
    found: Result = {
        "contender": curve.contender.name, "ranks": curve.contender.layout.ranks,
        "threads": curve.contender.layout.threads, "pattern": curve.work.pattern, "size": curve.work.size,
        "imbalance": curve.work.imbalance, "points_per_core": curve.work.per_core, "rounds": curve.rounds,
        "status": curve.status, "reason": curve.reason, "metg_us": None, "metg_interval_us": None,
        "metg_fastest_us": None, "runs": [],
    }  # fmt: skip
    if curve.rounds and curve.status == OK:
        metg = curve.metg(wanted)
        found |= {
            "metg_us": bounds.median(metg).to_json(),
            "metg_interval_us": bounds.interval(metg).to_json(),
            "metg_fastest_us": bounds.smallest_efficient(curve.best(), wanted).to_json(),
        }
    found["runs"] = [
        {"iterations": one.iterations, "granularity_us": [run.granularity(curve.work.cores) for run in one.rounds],
         "rate": [run.rate for run in one.rounds]}
        for one in curve.sizes
    ]  # fmt: skip
    found["peak_rate"] = curve.peaks
    return found


def show(console: Console, curves: Sequence[Curve], missing: Mapping[str, str], wanted: float) -> None:
    """A table for each pattern, size and so on; then what was not measured and why."""
    for work, some in groupby(curves, key=lambda one: one.work):
        console.print(f"METG({wanted:.0%}), {work.text()}", style="bold", highlight=False)
        console.print(_table(list(some), wanted))
    for curve in curves:
        if curve.status != OK:
            console.print(f"{curve.contender.key}, {curve.work.text()}: {curve.status}: {curve.reason}", style="yellow")
    for name, why in missing.items():
        console.print(f"{name} skipped: {why}", style="yellow")


def _table(curves: Sequence[Curve], wanted: float) -> Any:
    out = table_of(
        "contender", ">ranks", ">threads", ">METG\nus", ">95 %\nof the median", ">of the\nfastest runs", ">rounds"
    )
    rows = []
    for curve in curves:
        where = [curve.contender.name, str(curve.contender.layout.ranks), str(curve.contender.layout.threads)]
        if curve.status != OK or not curve.rounds:
            rows.append((math.inf, [*where, curve.status if curve.status != OK else "no round", "", "", "0"]))
            continue
        metg = curve.metg(wanted)
        middle, spread = bounds.median(metg), bounds.interval(metg)
        fastest = bounds.smallest_efficient(curve.best(), wanted).text()
        between = f"{figure(spread.low)} to {'any' if math.isinf(spread.high) else figure(spread.high)}"
        rows.append((middle.low, [*where, middle.text(), between, fastest, str(curve.rounds)]))
    for _, cells in sorted(rows, key=lambda one: one[0]):
        out.add_row(*cells)
    return out


def plot(path: Path, curves: Sequence[Curve], wanted: float) -> None:
    """Efficiency against granularity, a panel for each work: medians of the rounds."""
    from matplotlib.figure import Figure

    from omnipgas_tools.report.picture import save

    works = [(work, list(some)) for work, some in groupby(curves, key=lambda one: one.work)]
    columns = min(3, len(works))
    lines = -(-len(works) // columns)
    picture = Figure(figsize=(PANEL[0] * columns, PANEL[1] * lines), layout="tight")
    panels = picture.subplots(lines, columns, squeeze=False)
    for panel in panels.flat[len(works) :]:
        panel.set_axis_off()
    for panel, (work, some) in zip(panels.flat, works, strict=False):
        for curve in some:
            if curve.status == OK and curve.rounds:
                points = _middle(curve)
                panel.plot(
                    [point.granularity for point in points], [100 * point.efficiency for point in points], "o-",
                    markersize=3, label=curve.contender.key,
                )  # fmt: skip
        panel.axhline(100 * wanted, color="gray", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_ylim(0, 105)
        panel.set_title(work.text(), fontsize=9)
        panel.set_xlabel("granularity of a task [us]")
        panel.set_ylabel("efficiency [%]")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    save(picture, path)


def _middle(curve: Curve) -> list[Point]:
    """The median of each size of tasks, granularity and efficiency each for itself."""
    rounds = [curve.points(number) for number in range(curve.rounds)]
    made = []
    for same in zip(*rounds, strict=True):
        middles = [bounds.median([bounds.exactly(getattr(point, name)) for point in same]).low
                   for name in ("granularity", "efficiency")]  # fmt: skip
        made.append(Point(*middles))
    return made

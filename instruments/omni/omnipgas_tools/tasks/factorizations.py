# SPDX-License-Identifier: BSD-3-Clause
"""Time against threads: the forms of the Cholesky factorization on several layouts, as table, rows and plot."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import OK, Limits, Progress
from omnipgas_tools.report.terminal import figure, table_of
from omnipgas_tools.tasks import cholesky
from omnipgas_tools.tasks.cholesky import MINE, Size, Solves
from omnipgas_tools.tasks.plan import Contender, Layout

SCHEMA = "omnipgas-cholesky-1"
PANEL = (5.2, 3.8)  # inches
RANKS = (1, 2)


def sizes(text: str) -> list[Size]:
    """The sizes in a comma-separated list of ROWSxTILE. Raises ValueError."""
    found = []
    for word in text.split(","):
        rows, times, tile = word.strip().partition("x")
        if not times or not rows.isdigit() or not tile.isdigit() or int(tile) == 0:
            raise ValueError(f"{word.strip()!r} is not ROWSxTILE, for example 1024x64")
        if int(rows) == 0 or int(rows) % int(tile):
            raise ValueError(f"{word.strip()}: the rows are no multiple of the tile's")
        found.append(Size(int(rows), int(tile)))
    return list(dict.fromkeys(found))


def layouts() -> list[Layout]:
    """One rank and two, with 1, 2, 4 ... threads of each, as far as there are cores."""
    cores = catalog.cores()
    powers = [1 << power for power in range(cores.bit_length())]
    return [Layout(ranks, threads) for ranks in RANKS for threads in powers if ranks * threads <= cores]


def contenders(
    build: Path, mpi: str, wanted: Sequence[Layout], timeout: float
) -> tuple[list[list[Contender]], dict[str, str]]:
    """The forms on each layout, and why they cannot be had on others."""
    found: list[list[Contender]] = []
    missing: dict[str, str] = {}
    for layout in wanted:
        try:
            found.append(cholesky.contenders(build, mpi, layout, timeout))
        except (MissingError, FailedError) as error:
            missing[f"Cholesky {layout}"] = str(error)
    return found, missing


def measure(
    found: Sequence[Sequence[Contender]], wanted: Sequence[Size], limits: Limits, progress: Progress, seed: int
) -> tuple[list[Solves], bool]:
    """All sizes on all layouts, and whether Ctrl-C ended it; then with what was whole before."""
    progress.plan(sum(len(forms) for forms in found) * len(wanted) * limits.rounds)
    solved: list[Solves] = []
    try:
        for size in wanted:
            for forms in found:
                solved += cholesky.measure(list(forms), size, limits, progress, seed)
    except KeyboardInterrupt:
        return solved, True
    return solved, False


def rows(solved: Sequence[Solves]) -> list[Result]:
    """What the result file has: seconds of each round, their median and its 95 % interval."""
    found: list[Result] = []
    for one, row in zip(solved, cholesky.rows(list(solved)), strict=True):
        middle = stats.median_interval(one.rounds).to_json() if cholesky.works(one) else None
        found.append(row | {"median": middle})
    return found


def show(console: Console, solved: Sequence[Solves], missing: Mapping[str, str]) -> None:
    """A table for each size and number of ranks: threads down, forms across, in milliseconds; then what failed."""
    for (size, ranks), some in _panels(solved):
        forms = list(dict.fromkeys(one.contender.name for one in some))
        title = f"Cholesky, {size.rows} rows, tiles of {size.tile}, {_ranks(ranks)}; ms, median"
        console.print(title, style="bold", highlight=False)
        out = table_of(">threads", *(f">{form}" for form in forms))
        for threads, row in groupby(some, key=lambda one: one.contender.layout.threads):
            times = {one.contender.name: one for one in row}
            out.add_row(str(threads), *(_cell(times.get(form)) for form in forms))
        console.print(out)
    for one in solved:
        if one.status != OK:
            console.print(f"{one.contender.key}, {one.size.rows} rows: {one.status}: {one.reason}", style="yellow")
    for name, why in missing.items():
        console.print(f"{name} skipped: {why}", style="yellow")


def plot(path: Path, solved: Sequence[Solves]) -> None:
    """Time against threads of a rank, a panel for each size and number of ranks, a line for each form."""
    import matplotlib
    from matplotlib.figure import Figure

    from omnipgas_tools.report.picture import save

    panels = list(_panels([one for one in solved if cholesky.works(one)]))
    columns = min(3, max(1, len(panels)))
    lines = max(1, -(-len(panels) // columns))
    picture = Figure(figsize=(PANEL[0] * columns, PANEL[1] * lines), layout="tight")
    axes = picture.subplots(lines, columns, squeeze=False)
    for panel in axes.flat[len(panels) :]:
        panel.set_axis_off()
    for panel, ((size, ranks), some) in zip(axes.flat, panels, strict=False):
        for form in dict.fromkeys(one.contender.name for one in some):
            mine = [one for one in some if one.contender.name == form]
            middles = [stats.median_interval(one.rounds) for one in mine]
            below = [1e3 * (one.median - one.low) for one in middles]
            above = [1e3 * (one.high - one.median) for one in middles]
            panel.errorbar(
                [one.contender.layout.threads for one in mine], [1e3 * one.median for one in middles],
                yerr=[below, above], fmt="o-", capsize=2, markersize=3, label=form, linewidth=2 if form == MINE else 1,
            )  # fmt: skip
        threads = sorted({one.contender.layout.threads for one in some})
        panel.set_xticks(threads, [str(count) for count in threads])
        panel.set_ylim(bottom=0)
        panel.set_title(f"{size.rows} rows, tiles of {size.tile}, {_ranks(ranks)}", fontsize=9)
        panel.set_xlabel("threads of a rank")
        panel.set_ylabel("time [ms]")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # texts that can be searched
        save(picture, path)


def _panels(solved: Sequence[Solves]) -> Iterator[tuple[tuple[Size, int], list[Solves]]]:
    """By size and number of ranks, each in the order of threads."""

    def of(one: Solves) -> tuple[int, int, int, int]:
        return one.size.rows, one.size.tile, one.contender.layout.ranks, one.contender.layout.threads

    for (lines, tile, ranks), some in groupby(sorted(solved, key=of), key=lambda one: of(one)[:3]):
        yield (Size(lines, tile), ranks), list(some)


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _cell(one: Solves | None) -> str:
    if one is None or not one.rounds:
        return "" if one is None else one.status
    return figure(1e3 * stats.median_interval(one.rounds).median) if one.status == OK else one.status

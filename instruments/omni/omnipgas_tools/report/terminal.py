# SPDX-License-Identifier: BSD-3-Clause
"""Tables on the terminal."""

from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from omnipgas_tools.measure import stats
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.runner import Cell, Outcome

COLUMN = 12  # characters of a column with its margin
MARKS = {"hung": "hung", "crashed": "crashed", "corrupt": "corrupt", "skipped": "-"}


def table_of(*heads: str, right: int = 1, left: int = 0) -> Table:
    """An empty table, with so many blanks beside each cell; columns whose head begins with > are aligned at the right,
    those with + fold long words."""
    out = Table(box=SIMPLE_HEAD, padding=(0, right, 0, left))
    for head in heads:
        out.add_column(
            head.lstrip(">+"),
            justify="right" if head.startswith(">") else "left",
            overflow="fold" if head.startswith("+") else "ellipsis",
        )
    return out


def size_text(size: int) -> str:
    """A size as one says it: 8 B, 4 KiB."""
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def cell_text(cell: Cell | None, baseline: Cell | None) -> Text:
    """A cell's figure, and below it the ratio to the baseline where both have rounds."""
    if cell is None:
        return Text()
    if cell.status != "ok":
        return Text(MARKS[cell.status], style="dim" if cell.status == "skipped" else "red")
    text = Text(figure(stats.median_interval(cell.values()).median))
    if baseline and baseline is not cell and baseline.rounds:
        text.append(f"\n{figure(stats.paired_ratio(cell.values(), baseline.values(), 1).median)}x", "dim")
    return text


def figure(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def tables(outcome: Outcome, threads: int, width: int) -> Iterator[Table]:
    """Sizes down, libraries across; split where the terminal is too narrow."""
    cells = [c for c in outcome.cells if c.threads == threads]
    baselines = {c.contender.key: c.contender.baseline for c in cells}
    keys = list(baselines)
    fit = max(1, (width - COLUMN) // COLUMN)
    for first in range(0, len(keys), fit):
        out = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        out.add_column("size", justify="right")
        for library, op in keys[first : first + fit]:
            name = library.replace("-", "- ").replace(";", "; ")  # where it may be broken
            out.add_column(f"{name}\n{op}", justify="right", max_width=COLUMN - 2)
        for size in dict.fromkeys(c.size for c in cells):
            row = [
                cell_text(outcome.cell(*key, threads, size), outcome.cell(*baselines[key], threads, size))
                for key in keys[first : first + fit]
            ]
            out.add_row(size_text(size), *row)
        yield out


def problems(console: Console, rows: Iterable[Result], name: str = "{library}") -> None:
    """What went wrong and why, each once; `name`: what a row is called by."""
    said = (f"{name.format_map(row)} {row['status']}: {row['reason']}" for row in rows if row["status"] != "ok")
    for line in dict.fromkeys(said):
        console.print(line, style="yellow")


def show(console: Console, bench: str, outcome: Outcome, results: list[Result]) -> None:
    """All tables, then what went wrong and why."""
    unit = "latency, us, one way, slowest thread" if bench == "pingpong" else "million messages/s"
    for threads in dict.fromkeys(c.threads for c in outcome.cells):
        console.print(f"{bench}, threads per rank: {threads}; {unit}", style="bold")
        for part in tables(outcome, threads, console.width):
            console.print(part)
    measured = {c.contender.key for c in outcome.cells}
    if baselines := {c.contender.baseline for c in outcome.cells if c.contender.baseline != c.contender.key} & measured:
        names = ", ".join(sorted({name for name, _ in baselines}))
        console.print(f"Second lines: ratio to the hand-written baseline ({names}), median over rounds.", style="dim")
    problems(console, results)
    caveats = {name.rpartition(", ")[0]: how["caveats"] for name, how in outcome.started.items()}
    for library in (name for name, texts in caveats.items() if texts):
        console.print(Text(f"{library}: {'; '.join(caveats[library])}", style="dim"))

# SPDX-License-Identifier: BSD-3-Clause
"""omni rank: the libraries of a result file in order, and whether a second run has the same order."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Optional

import typer
from rich.table import Table

from omnipgas_tools.measure.results import Result
from omnipgas_tools.options import console_beside
from omnipgas_tools.report import comparison, ranking
from omnipgas_tools.report.terminal import table_of

FIRST = typer.Argument(..., metavar="FILE", help="A result file of omni pingpong or omni rate.")
SECOND = typer.Argument(None, metavar="FILE", help="The result file of another run, which is compared with the first.")


def command(first: Path = FIRST, second: Optional[Path] = SECOND) -> None:
    """Rank the libraries of a result file; exit status 1 if a second one ranks two of them the other way round."""
    console = console_beside(None)
    rows = comparison.read(first)["results"]
    console.print(table(rows))
    console.print("= between those that are tied: their 95 % intervals overlap, or they cross.", style="dim")
    if second is None:
        return
    found, both = ranking.contradictions(rows, comparison.read(second)["results"])
    for one in found:
        console.print(f"{one.place}: {first} has {one.first} before {one.second}, {second} the other way round")
    console.print(f"{len(found)} of {both} pairs that both runs rank are the other way round.")
    if not both:
        console.print("Nothing is ranked by both: too few rounds, or other libraries, threads, sizes.", style="yellow")
    if found or not both:
        raise typer.Exit(1)


def table(rows: Iterable[Result]) -> Table:
    """A line for each operation, thread count and class of sizes."""
    out = table_of("where", "+order", right=2)
    for place, libraries in sorted(ranking.comparable(rows).items()):
        groups = groupby(ranking.ranked(libraries), key=lambda one: one[0])
        order = ", ".join(f"{rank}. " + " = ".join(name for _, name in group) for rank, group in groups)
        out.add_row(str(place), order)
    return out

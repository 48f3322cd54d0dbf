# SPDX-License-Identifier: BSD-3-Clause
"""omni tune advise: how many processes per node, and who makes progress, by result files of omni overlap."""

from __future__ import annotations

import json as json_
from dataclasses import asdict
from pathlib import Path
from typing import Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.options import console_beside
from omnipgas_tools.overlap import advice as overlap_advice
from omnipgas_tools.overlap.advice import Advice
from omnipgas_tools.report.terminal import figure

SCHEMA = "omnipgas-advice-1"

FILES = typer.Argument(..., metavar="FILE...", help="Result files of omni overlap, together of several p_node.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")


def advise(files: list[Path] = FILES, json: Optional[str] = JSON) -> None:
    """Say how many processes per node, and which mode of progress, finish the same work on the same cores first."""
    try:
        found = overlap_advice.advise(row for path in files for row in rows_of(path))
    except OSError as error:
        raise typer.BadParameter(f"{error.filename}: {error.strerror}", param_hint="FILE") from error
    except (ValueError, KeyError, TypeError) as error:
        raise typer.BadParameter(f"no result files of omni overlap: {error}", param_hint="FILE") from error
    if not found:
        raise typer.BadParameter(
            "no work was measured with several p_node: run omni overlap with several --ranks, --computation paper and,"
            " of allgather, with sizes whose products with p_node are the same"
        )
    console = console_beside(json)
    for one in found:
        show(console, one)
    for library, ways in overlap_advice.most_often_first(found).items():
        way, wins, tried = ways[0]
        console.print(f"{library}: {way} is the fastest, or tied with it, at {wins} of {tried} works.", highlight=False)
    if json:
        results.write(json, {"schema": SCHEMA, "files": [str(path) for path in files], "advice": [*map(_json, found)]})


def rows_of(path: Path) -> list[Result]:
    """Of a result file; raises OSError, ValueError, KeyError or TypeError."""
    content = json_.loads(path.read_text())
    if content["schema"] != results.SCHEMA:
        raise ValueError(f"{path} is of another kind, {content['schema']}")
    rows: list[Result] = content["results"]
    return rows


def show(console: Console, one: Advice) -> None:
    """The ways to do one work, the fastest first."""
    console.print(str(one.work), style="bold", highlight=False)
    if one.emulation:
        console.print(f"Emulated: {one.emulation}.", style="dim")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("way", "overall us", "95 %", "of the first", ""):
        table.add_column(column, justify="left" if column in {"way", ""} else "right")
    for way in one.order:
        took = one.times[way]
        tied = way in one.first and len(one.first) > 1
        table.add_row(
            str(way), figure(took.median), f"{figure(took.low)} - {figure(took.high)}", f"{one.behind(way):.2f}",
            "tied" if tied else "first" if way in one.first else "",
        )  # fmt: skip
    console.print(table)


def _json(one: Advice) -> dict[str, object]:
    return {
        "work": asdict(one.work),
        "emulation": one.emulation,
        "ways": [{**asdict(way), **one.times[way].to_json(), "first": way in one.first} for way in one.order],
    }

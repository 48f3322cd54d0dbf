# SPDX-License-Identifier: BSD-3-Clause
"""How many processes per node, and who makes progress, by result files of omni overlap."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.overlap.advice import Advice
from omnipgas_tools.report.terminal import figure, table_of


def rows_of(path: Path) -> list[Result]:
    """Of a result file; raises OSError, ValueError, KeyError or TypeError."""
    content = json.loads(path.read_text())
    if content["schema"] != results.SCHEMA:
        raise ValueError(f"{path} is of another kind, {content['schema']}")
    rows: list[Result] = content["results"]
    return rows


def show(console: Console, one: Advice) -> None:
    """The ways to do one work, the fastest first."""
    console.print(str(one.work), style="bold", highlight=False)
    if one.emulation:
        console.print(f"Emulated: {one.emulation}.", style="dim")
    table = table_of("way", ">overall us", ">95 %", ">of the first", "")
    for way in one.order:
        took = one.times[way]
        tied = way in one.first and len(one.first) > 1
        table.add_row(
            str(way), figure(took.median), f"{figure(took.low)} - {figure(took.high)}", f"{one.behind(way):.2f}",
            "tied" if tied else "first" if way in one.first else "",
        )  # fmt: skip
    console.print(table)


def to_json(one: Advice) -> dict[str, object]:
    """As the result file has it."""
    return {
        "work": asdict(one.work),
        "emulation": one.emulation,
        "ways": [{**asdict(way), **one.times[way].to_json(), "first": way in one.first} for way in one.order],
    }

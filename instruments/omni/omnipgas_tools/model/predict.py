# SPDX-License-Identifier: BSD-3-Clause
"""The time a traced program would take on a machine, and where it goes."""

import json
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from omnipgas_tools.model import program
from omnipgas_tools.report.terminal import table_of

MOST_RANKS = 32  # rows of the table
MOST_SITES = 10
PARTS = {"compute": "compute", "overhead": "overhead", "send_wait": "send wait", "recv_wait": "recv wait"}


def run(trace: str, params: str, model: str, options: list[str]) -> dict[str, Any]:
    """What ompl-model says. Raises PredictionError."""
    with tempfile.TemporaryDirectory(prefix="omni-") as folder:
        out = Path(folder, "prediction.json")
        program.run("predict", trace, "--params", params, "--model", model, "--json", out, *options, heard=False)
        result: dict[str, Any] = json.loads(out.read_text())
    return result


def show(console: Console, result: dict[str, Any]) -> None:
    """The result as tables."""
    console.print(
        f"{result['input']} on {result['machine']} under {result['model']}:",
        Text(seconds(result["predicted_seconds"]) + ",", "bold"),
        f"{result['messages']} messages, {result['rendezvous']} of them synchronized",
    )
    for what, rows in (("rank", list(enumerate(result["per_rank"]))), ("thread", threads(result))):
        if rows:
            console.print(breakdown(what, rows[:MOST_RANKS]))
        if len(rows) > MOST_RANKS:
            console.print(f"... and {len(rows) - MOST_RANKS} more {what}s")
    sites = sorted(result["per_site"], key=lambda row: -sum(row[part] for part in PARTS))
    sites = [row for row in sites if any(row[part] for part in PARTS)]
    if sites:
        console.print(breakdown("call site", ((row["where"], row) for row in sites[:MOST_SITES])))
    if "sensitivity" in result:
        console.print(sensitivities(result))
    for line in warnings(result):
        console.print(f"warning: {line}", style="yellow", soft_wrap=True)
    console.print(f"read in {seconds(result['read_seconds'])}, replayed in {seconds(result['replay_seconds'])}")


def threads(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Those of each rank, if any has several."""
    return [(f"{row['rank']}.{row['thread']}", row) for row in result.get("per_thread", [])]


def breakdown(what: str, rows: Any) -> Table:
    """Where the time goes, a row for each."""
    table = table_of(f"+{what}", *(f">{name}" for name in [*PARTS.values(), "sum"]), left=1)
    for name, row in rows:
        times = [row[part] for part in PARTS]
        table.add_row(str(name), *(seconds(time) for time in [*times, sum(times)]))
    return table


def sensitivities(result: dict[str, Any]) -> Table:
    """The derivatives of the predicted time, and what each parameter makes of it: those add up to it."""
    table = table_of("parameter", ">value", ">d time / d value", ">part of the time", left=1)
    found = result["sensitivity"]
    for name, value in result["parameters"].items():
        if name in found:
            part = "a step" if name == "S" else seconds(found[name] * value)
            table.add_row(name, f"{value:g}", f"{found[name]:.6g}", part)
    return table


def warnings(result: dict[str, Any]) -> list[str]:
    """What the reader of the figures must know."""
    lines = [f"{count} calls of {name} are not modelled: they take the time they took"
             for name, count in result["not_modelled"].items()]  # fmt: skip
    if result["model"] == "loggops-mpi" and result["input"].endswith(".goal"):
        lines.append("a schedule's operations are called in the order of its file: LogGOPSim may give another time")
    for one in result["unmatched"]:
        toward = "to" if one["kind"] == "send" else "from"
        what = f"a {one['kind']} {toward} {one['peer']}, tag {one['tag']}"
        who = f"rank {one['rank']}" + (f", thread {one['thread']}" if "thread" in one else "")
        lines.append(f"{who}, {one['where']}: {what}, has no partner")
    left = result["unmatched_count"] - len(result["unmatched"])
    return lines + ([f"{left} more messages have no partner"] if left else [])


def seconds(time: float) -> str:
    """A time as one says it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(time) >= unit:
            return f"{time / unit:.4g} {name}"
    return f"{time * 1e9:.4g} ns"

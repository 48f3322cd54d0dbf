# SPDX-License-Identifier: BSD-3-Clause
"""omni model predict: the time a traced program would take on a machine, and where it goes."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from omnipgas_tools.libraries import peers

MOST_RANKS = 32  # rows of the table
MOST_SITES = 10
PARTS = {"compute": "compute", "overhead": "overhead", "send_wait": "send wait", "recv_wait": "recv wait"}

INPUT = typer.Argument(..., metavar="TRACE", help="Folder of a trace, NAME.otf2, GOAL file, or ring:64:1000:8.")
PARAMS = typer.Option(..., "--params", metavar="FILE", help="Parameters, or cenju4, myrinet, fast-ethernet.")
MODEL = typer.Option("loggps", "--model", help="loggps, loggp-1, loggp-2, loggops.")
JSON = typer.Option(None, "--json", metavar="FILE", help="The whole result; - for standard output.")
SHARING = typer.Option(True, "--sharing/--no-sharing", help="Messages to one receiver share its bandwidth.")
SENSITIVITY = typer.Option(True, "--sensitivity/--no-sensitivity", help="Critical path and derivatives.")
SCALE = typer.Option(1.0, "--compute-scale", min=0, help="Factor of all computation.")
NOISE = typer.Option(0.0, "--noise", min=0, help="Computation takes longer by this part on average.")
SEED = typer.Option(1, "--seed", help="Of the noise.")
BUFFER = typer.Option(
    0, "--eager-buffer", min=0, metavar="BYTES", help="What one rank may send another before it is received. [0: all]"
)
JOBS = typer.Option(None, "--jobs", min=1, help="Replays at a time. [one for each core that omni may use]")
THREADS = typer.Option(
    None, "--threads", min=1, max=1024, help="Of a replay. [one for each core that omni may use, of 256 ranks or more]"
)


class PredictionError(Exception):
    """What could not be predicted, and why."""


def predict(
    trace: str = INPUT,
    params: str = PARAMS,
    model: str = MODEL,
    json: Optional[str] = JSON,
    sharing: bool = SHARING,
    sensitivity: bool = SENSITIVITY,
    compute_scale: float = SCALE,
    noise: float = NOISE,
    seed: int = SEED,
    eager_buffer: int = BUFFER,
    jobs: Optional[int] = JOBS,
    threads: Optional[int] = THREADS,
) -> None:
    """Replays a trace under a model: predicted seconds, and where they go."""
    options = [f"--compute-scale={compute_scale}", f"--noise={noise}", f"--seed={seed}"]
    options += [f"--eager-buffer={eager_buffer}"]
    options += at_once(jobs, threads)
    options += [] if sharing else ["--no-sharing"]
    options += [] if sensitivity else ["--no-sensitivity"]
    console = Console(stderr=json == "-", highlight=False)
    try:
        result = run(trace, params, model, options)
        if json:
            write(json, result)
    except PredictionError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    show(console, result)


def at_once(jobs: int | None, threads: int | None) -> list[str]:
    """ompl-model's options for replays at a time, and for the threads of each."""
    given = {"--jobs": jobs, "--threads": threads}
    return [f"{option}={count}" for option, count in given.items() if count is not None]


def run(trace: str, params: str, model: str, options: list[str]) -> dict[str, Any]:
    """What ompl-model says."""
    program = peers.build_dir() / "bin" / "ompl-model"
    if not program.is_file():
        raise PredictionError(f"{program} is not built: run make")
    with tempfile.TemporaryDirectory(prefix="omni-") as folder:
        out = Path(folder, "prediction.json")
        command = [str(program), "predict", trace, "--params", params, "--model", model, "--json", str(out), *options]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            text = done.stderr.strip().removeprefix("ompl-model: ")
            raise PredictionError(text or f"ompl-model ended with status {done.returncode}")
        result: dict[str, Any] = json.loads(out.read_text())
    return result


def write(place: str, result: dict[str, Any]) -> None:
    """To a file or standard output."""
    text = json.dumps(result, indent=1) + "\n"
    if place == "-":
        sys.stdout.write(text)
        return
    try:
        Path(place).write_text(text)
    except OSError as error:
        raise PredictionError(f"{place}: {error.strerror}") from error


def show(console: Console, result: dict[str, Any]) -> None:
    """The result as tables."""
    console.print(
        f"{result['input']} on {result['machine']} under {result['model']}: "
        f"[bold]{seconds(result['predicted_seconds'])}[/bold], {result['messages']} messages, "
        f"{result['rendezvous']} of them synchronized"
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
        console.print(f"warning: {line}", style="yellow", soft_wrap=True, markup=False)
    console.print(f"read in {seconds(result['read_seconds'])}, replayed in {seconds(result['replay_seconds'])}")


def threads(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Those of each rank, if any has several."""
    return [(f"{row['rank']}.{row['thread']}", row) for row in result.get("per_thread", [])]


def breakdown(what: str, rows: Any) -> Table:
    """Where the time goes, a row for each."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column(what, overflow="fold")
    for name in [*PARTS.values(), "sum"]:
        table.add_column(name, justify="right")
    for name, row in rows:
        times = [row[part] for part in PARTS]
        table.add_row(str(name), *(seconds(time) for time in [*times, sum(times)]))
    return table


def sensitivities(result: dict[str, Any]) -> Table:
    """The derivatives of the predicted time, and what each parameter makes of it: those add up to it."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("parameter")
    for name in ("value", "d time / d value", "part of the time"):
        table.add_column(name, justify="right")
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

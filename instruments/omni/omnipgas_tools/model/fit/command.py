# SPDX-License-Identifier: BSD-3-Clause
"""omni model fit: measures round trips between two ranks and fits the parameters of LogGPS and its relatives."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from omnipgas_tools import __version__
from omnipgas_tools.libraries import installation, peers
from omnipgas_tools.libraries.peers import Found, Hosts, MissingError, Setting
from omnipgas_tools.measure import network, results
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model.fit import parameter_file
from omnipgas_tools.model.fit import report as fit_report
from omnipgas_tools.model.fit.fitting import Fit, fit
from omnipgas_tools.model.fit.measure import Outcome, Plan, measure
from omnipgas_tools.model.fit.measurements import DataError, Measurements
from omnipgas_tools.options import RATE, TWO_HOSTS, on_hosts

QUICK = {"rounds": 6, "launches": 2, "per_octave": 2, "largest": 1 << 20, "seconds": 0.001}
WIDTH = 140  # of what goes into a file
OPERATIONS = {"put": "put", "get": "get", "word": "put_word"}  # of this layer, and their names in the file

LIBRARY = typer.Option(None, "--mpi", metavar="NAME", help="mpich, openmpi, intel, mpich-debian, openmpi-debian; ompl.")
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Parameter file to write.")
AGAIN = typer.Option(None, "--from", metavar="FILE", help="Fit what this parameter file has measured again.")
OVER = typer.Option(None, "--over", help=f"What ompl goes over instead of memory: {', '.join(network.TRANSPORTS)}.")
LARGEST = typer.Option(None, "--largest", min=1024, help="Longest message, bytes. [4 MiB; quick: 1 MiB]")
ROUNDS = typer.Option(None, "--rounds", min=3, help="Rounds over all lengths. [30; quick: 6]")
QUICKLY = typer.Option(False, "--quick", help="Fewer and shorter rounds, fewer lengths.")
TIMEOUT = typer.Option(30.0, "--timeout", min=0.1, help="Seconds until one block counts as hung.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Measured and modelled round trips, PNG or SVG.")
SEED = typer.Option(1, "--seed", help="Of the order of measurements and of the intervals.")


def fit_command(
    out: Path = OUT,
    mpi: Optional[str] = LIBRARY,
    again: Optional[Path] = AGAIN,
    over: Optional[str] = OVER,
    hosts: int = TWO_HOSTS,
    rate: Optional[int] = RATE,
    largest: Optional[int] = LARGEST,
    rounds: Optional[int] = ROUNDS,
    quick: bool = QUICKLY,
    timeout: float = TIMEOUT,
    plot: Optional[Path] = PLOT,
    seed: int = SEED,
) -> None:
    """Measures a machine: omni model fit --mpi mpich -o params.json"""
    if (mpi is None) == (again is None):
        raise typer.BadParameter("give either --mpi or --from")
    if plot is not None:
        from omnipgas_tools.model.fit import plot as fit_plot

        if plot.suffix not in fit_plot.FORMATS:
            raise typer.BadParameter(f"--plot {plot}: the name must end in {' or '.join(fit_plot.FORMATS)}")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"-o {out}: there is no folder {out.absolute().parent}")
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    wanted = {"timeout": timeout, "seed": seed, **(QUICK if quick else {})}
    wanted |= {name: value for name, value in (("largest", largest), ("rounds", rounds)) if value is not None}
    plan = replace(Plan(), **wanted)  # type: ignore[arg-type]
    try:
        if again is not None:
            content, measured = parameter_file.read_measurements(again)
        else:
            assert mpi is not None
            content, measured = run(console, mpi, over, hosts, rate, plan)
        finish(console, content, measured, seed, out, plot)
    except (DataError, WorkerError, MissingError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, markup=False)
        raise typer.Exit(1) from error


def run(
    console: Console, mpi: str, over: str | None, hosts: int, rate: int | None, plan: Plan
) -> tuple[dict[str, Any], dict[str, Measurements]]:
    """Measures all operations of a library; what the file says of it, and the measurements."""
    started, machine = datetime.now(UTC), results.machine()
    build = peers.build_dir()
    table = peers.table(build)
    known = [name for name, peer in table.items() if peer.is_mpi or name == "ompl"]
    if mpi not in known:
        raise typer.BadParameter(f"--mpi {mpi}: no such library; there are {', '.join(known)}")
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as stack:
        bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
        )  # fmt: skip
        stack.enter_context(bar)
        two = stack.enter_context(on_hosts(hosts, peers.RANKS, rate))
        found = chosen(installation.find(table[mpi], build, "roundtrip"), over, two)
        for operation in OPERATIONS if mpi == "ompl" else ("send",):
            task = bar.add_task(f"{found.name} {operation}", total=1.0)
            outcomes[operation] = measure(
                found, operation, plan, lambda text, part, task=task, operation=operation: bar.update(  # type: ignore[misc]
                    task, description=f"{found.name} {operation}: {text}", completed=part
                ),
            )  # fmt: skip
    first = next(iter(outcomes.values()))
    where = "between two hosts" if hosts == 2 else "on one node"
    content = {
        "schema": parameter_file.SCHEMA,
        "machine": f"{machine['cpu']}: {found.name}, {where}" + (f", {rate} Mbit/s" if rate else ""),
        "host": machine,
        "library": {
            "name": mpi, "version": first.hello["version"], "transport": over or first.hello["transport"],
            "hosts": hosts, "rate_mbit": rate, "settings": first.hello["details"],
        },
        "command": {
            "argv": sys.argv, "launch": first.command, "environment": parameter_file.environment() | first.environment,
            "started": started.isoformat(timespec="seconds"), "omni": __version__, "seed": plan.seed,
        },
    }  # fmt: skip
    return content, {name: outcome.measurements for name, outcome in outcomes.items()}


def chosen(found: Found, over: str | None, hosts: Hosts | None) -> Found:
    """The library as a user has it: of the settings in peers.toml those without which it does not run here; what the
    user set goes first. Raises MissingError."""
    if found.peer.name != "ompl":
        if over:
            raise typer.BadParameter("--over is for ompl: an MPI is told by its own variables")
        found = network.on_hosts(found, hosts)
    elif over or hosts:
        if over not in (None, *network.TRANSPORTS):
            raise typer.BadParameter(f"--over {over}: there are {', '.join(network.TRANSPORTS)}")
        found = network.over(found, over or "tcp", hosts)
    return replace(found, peer=replace(found.peer, settings=[s for s in found.peer.settings if _needed(s)]))


def _needed(setting: Setting) -> bool:
    place = "{prefix}" in setting.value or setting.source == "--over"
    return place or (setting.when in ("root", "hosts") and setting.env not in parameter_file.environment())


def finish(
    console: Console,
    content: dict[str, Any],
    measured: dict[str, Measurements],
    seed: int,
    out: Path,
    plot: Path | None,
) -> None:
    """Fits, writes, shows; the models of the first operation are the file's."""
    library = content["library"]
    known = parameter_file.limits(library["settings"], content["command"]["environment"])
    fits: dict[str, Fit] = {}
    for name, measurements in measured.items():
        with console.status(f"{name}: intervals"):
            fits[name] = fit(measurements, seed=seed)
    written = {OPERATIONS.get(name, name): parameter_file.operation(one, known) for name, one in fits.items()}
    first = next(iter(written.values()))
    parameter_file.write(out, content | {"models": first["models"], "operations": written})
    for name, one in fits.items():
        title = f"{library['name']} {OPERATIONS.get(name, name)}"
        fit_report.show(console, title, one, known)
        if plot is not None and len(one.measurements.lengths) > 1:
            from omnipgas_tools.model.fit import plot as fit_plot

            path = plot if len(fits) == 1 else plot.with_stem(f"{plot.stem}-{name}")
            fit_plot.plot(path, title, one)
            console.print(f"plot: {path}", soft_wrap=True)
    console.print(f"parameters: {out}", soft_wrap=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Measures round trips between two ranks of a library, fits the parameters of LogGPS and its relatives to them, and
writes the parameter file."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from omnipgas_tools import __version__
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found, Hosts, MissingError, Setting
from omnipgas_tools.measure import network, results
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model.fit import parameter_file
from omnipgas_tools.model.fit import report as fit_report
from omnipgas_tools.model.fit.fitting import Fit, fit
from omnipgas_tools.model.fit.measure import Outcome, Plan, measure
from omnipgas_tools.model.fit.measurements import DataError, Measurements
from omnipgas_tools.options import Bar, on_hosts

QUICK = {"rounds": 6, "launches": 2, "per_octave": 2, "largest": 1 << 20, "seconds": 0.001}
OPERATIONS = {"put": "put", "get": "get", "word": "put_word"}  # of this layer, and their names in the file
FAILURES = (DataError, WorkerError, MissingError)


def plan(quick: bool, **asked: float | None) -> Plan:
    """What is measured; what was not asked for is as usual."""
    given = {name: value for name, value in asked.items() if value is not None}
    return replace(Plan(), **((QUICK if quick else {}) | given))  # type: ignore[arg-type]


def fit_library(
    console: Console, mpi: str, out: Path, wanted: Plan, *,
    over: str | None = None, hosts: int = 1, rate: int | None = None, plot: Path | None = None,
) -> None:  # fmt: skip
    """Measures a library, fits, writes the parameter file. Raises one of FAILURES."""
    content, measured = run(console, mpi, over, hosts, rate, wanted)
    finish(console, content, measured, wanted.seed, out, plot)


def run(
    console: Console, mpi: str, over: str | None, hosts: int, rate: int | None, plan: Plan
) -> tuple[dict[str, Any], dict[str, Measurements]]:
    """Measures all operations of a library; what the file says of it, and the measurements."""
    started, machine = datetime.now(UTC), results.machine()
    build = catalog.build_dir()
    table = catalog.table(build)
    known = [name for name, library in table.items() if library.is_mpi or name == "ompl"]
    if mpi not in known:
        raise typer.BadParameter(f"--mpi {mpi}: no such library; there are {', '.join(known)}")
    outcomes: dict[str, Outcome] = {}
    operations = OPERATIONS if mpi == "ompl" else ("send",)
    with Bar(console) as bar, on_hosts(hosts, catalog.RANKS, rate) as two:
        found = chosen(installation.find(table[mpi], build, "roundtrip"), over, two)
        bar.plan(plan.rounds * len(operations))
        for operation in operations:
            outcomes[operation] = measure(found, operation, plan, bar)
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
    if found.library.name != "ompl":
        if over:
            raise typer.BadParameter("--over is for ompl: an MPI is told by its own variables")
        found = network.on_hosts(found, hosts)
    elif over or hosts:
        if over not in (None, *network.TRANSPORTS):
            raise typer.BadParameter(f"--over {over}: there are {', '.join(network.TRANSPORTS)}")
        found = network.over(found, over or "tcp", hosts)
    return replace(found, library=replace(found.library, settings=[s for s in found.library.settings if _needed(s)]))


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

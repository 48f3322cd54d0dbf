# SPDX-License-Identifier: BSD-3-Clause
"""omni libs: which libraries can be measured here, where they are, how to get the others; and adding one's own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from omnipgas_tools import files
from omnipgas_tools.libraries import installation, peers
from omnipgas_tools.libraries.compilers import FailedError, output_of
from omnipgas_tools.libraries.peers import Found, MissingError, Peer
from omnipgas_tools.measure.worker import Worker, WorkerError
from omnipgas_tools.options import FILE_WIDTH

PROBE = 64  # bytes
TARGETS = [f"{kind}_mpi_workers" for kind in peers.OF_ALL]  # of the build: the workers of all libraries

app = typer.Typer(help="The libraries that can be measured.", invoke_without_command=True)
RUN = typer.Option(True, "--run/--no-run", help="Start each, to see its version and what it goes over.")
NAME = typer.Argument(..., help="Row of the table, as omni libs lists it.")
PREFIX = typer.Argument(..., help="Folder where the library is installed, with include and lib in it.")


@dataclass(frozen=True)
class State:
    """What is known of a library here."""

    peer: Peer
    place: str  # where it is; empty: not here
    version: str
    transport: str
    remark: str  # why not, and how to get it; or what to know of its figures


def state_of(peer: Peer, build: Path, run: bool) -> State:
    """Looks for a library and, if asked to, starts it once."""
    try:
        found = installation.find(peer, build)
    except MissingError as missing:
        return State(peer, "", "", "", str(missing))
    version, transport, remark = "", "", "; ".join(peer.caveats)
    if run:
        try:
            with Worker(found, threads=1, size=PROBE) as worker:
                version, transport = worker.hello[0]["version"], worker.hello[0]["transport"]
        except WorkerError as failure:
            remark = f"{failure.status}: {failure.reason}"
    return State(peer, place_of(found), version, transport, remark)


def place_of(found: Found) -> str:
    """Where a library is: its folder, else its launcher, else the worker that holds it."""
    return str(found.prefix or found.launcher or found.worker)


@app.callback()
def listing(context: typer.Context, run: bool = RUN) -> None:
    """List the libraries: version, place, transport; of those that are missing how to get them."""
    if context.invoked_subcommand:
        return
    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    build = peers.build_dir()
    states = [state_of(peer, build, run) for peer in peers.table(build).values()]
    console.print(table_of(state for state in states if state.place))
    missing = [state for state in states if not state.place]
    if missing:
        console.print("Missing:", style="bold")
    for state in missing:
        console.print(Text.assemble((f"  {state.peer.name}", "bold"), f" ({state.peer.title}): {state.remark}"))


def table_of(states: Iterator[State]) -> Table:
    """The libraries that are here."""
    out = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("library", "what", "version", "over", "place", "remark"):
        out.add_column(column, overflow="fold")
    for one in states:
        out.add_row(one.peer.name, one.peer.title, one.version, one.transport, one.place, one.remark)
    return out


@app.command("add")
def add(name: str = NAME, prefix: Path = PREFIX) -> None:
    """Compile a library's adapter against your installation, start it once, and remember the place."""
    build = peers.build_dir()
    table = peers.table(build)
    if name not in table or not table[name].prefix:
        known = ", ".join(row.name for row in table.values() if row.prefix)
        raise typer.BadParameter(f"{name!r} is none of {known}", param_hint="NAME")
    prefix = prefix.absolute()
    if not prefix.is_dir():
        raise typer.BadParameter(f"{prefix} is no folder", param_hint="PREFIX")
    before = peers.added()
    remember(before | {name: str(prefix)})
    try:
        compile_for(build, table[name])
        state = state_of(table[name], build, run=True)
        if not state.version:
            raise MissingError(state.remark)
    except BaseException as failure:  # Ctrl-C too
        remember(before)
        if not isinstance(failure, MissingError):
            raise
        print(f"{name} was not added: {failure}", file=sys.stderr)
        for caveat in table[name].caveats:
            print(f"Known of {name}: {caveat}", file=sys.stderr)
        raise typer.Exit(1) from failure
    print(
        f"{name}: {state.version} over {state.transport}, from {state.place}; omni pingpong --libs {name} measures it"
    )


def compile_for(build: Path, peer: Peer) -> None:
    """Brings the worker up to date; raises MissingError with the compiler's complaint. Of an installation that is done
    when it is looked for."""
    if peers.sources(build) is not None:
        return
    try:
        said = output_of(["cmake", "--build", str(build), "--target", *TARGETS], {})
    except FailedError as failure:
        raise MissingError(str(failure)) from failure
    if reason := re.search(
        rf"^bench worker {re.escape(peer.name)}: skipped, (.*?)(?=^\w+ worker |\Z)", said, re.M | re.S
    ):
        raise MissingError(reason[1].strip())


def remember(prefixes: dict[str, str]) -> None:
    """Writes the note of added libraries; raises typer.BadParameter if it cannot be written."""
    file = peers.added_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, json.dumps(prefixes, indent=1) + "\n")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}; set XDG_CONFIG_HOME to another folder") from error

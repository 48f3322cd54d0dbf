# SPDX-License-Identifier: BSD-3-Clause
"""omni libs: which libraries can be measured here, where they are, how to get the others; and adding one's own."""

import sys
from collections.abc import Iterable
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.state import State, add_library, state_of
from omnipgas_tools.options import console_beside, group
from omnipgas_tools.report.terminal import table_of

app = group("The libraries that can be measured.", invoke_without_command=True)
RUN = typer.Option(
    True, "--run/--no-run", help="Whether each library is started, to see its version and its transport."
)
NAME = typer.Argument(..., help="Name of the library, as omni libs lists it.")
PREFIX = typer.Argument(..., help="Folder where the library is installed, with include and lib in it.")


@app.callback()
def listing(context: typer.Context, run: bool = RUN) -> None:
    """List the libraries: version, place, transport; of those that are missing how to get them."""
    if context.invoked_subcommand:
        return
    console = console_beside(None)
    build = catalog.build_dir()
    states = [state_of(library, build, run) for library in catalog.table(build).values()]
    console.print(table(state for state in states if state.place))
    missing = [state for state in states if not state.place]
    if missing:
        console.print("Missing:", style="bold")
    for state in missing:
        console.print(Text.assemble((f"  {state.library.name}", "bold"), f" ({state.library.title}): {state.remark}"))


def table(states: Iterable[State]) -> Table:
    """The libraries that are here."""
    out = table_of("+library", "+what", "+version", "+over", "+place", "+remark")
    for one in states:
        out.add_row(one.library.name, one.library.title, one.version, one.transport, one.place, one.remark)
    return out


@app.command("add")
def add(name: str = NAME, prefix: Path = PREFIX) -> None:
    """Compile a library's adapter against your installation, start it once, and remember the place."""
    build = catalog.build_dir()
    rows = catalog.table(build)
    if name not in rows or not rows[name].prefix:
        known = ", ".join(row.name for row in rows.values() if row.prefix)
        raise typer.BadParameter(f"{name!r} is none of {known}", param_hint="NAME")
    prefix = prefix.absolute()
    if not prefix.is_dir():
        raise typer.BadParameter(f"{prefix} is no folder", param_hint="PREFIX")
    try:
        state = add_library(build, rows[name], prefix)
    except MissingError as failure:
        print(f"{name} was not added: {failure}", file=sys.stderr)
        for caveat in rows[name].caveats:
            print(f"Known of {name}: {caveat}", file=sys.stderr)
        raise typer.Exit(1) from failure
    except OSError as error:
        raise typer.BadParameter(
            f"{error.filename}: {error.strerror}; set XDG_CONFIG_HOME to another folder"
        ) from error
    print(
        f"{name}: {state.version} over {state.transport}, from {state.place}; omni pingpong --libs {name} measures it"
    )

# SPDX-License-Identifier: BSD-3-Clause
"""The omni command: its commands, each a file of commands/."""

import os
import signal
import sys

import typer

from omnipgas_tools import __version__
from omnipgas_tools.commands import (
    cg,
    endpoints,
    figures,
    halo,
    libs,
    memory,
    model,
    overlap,
    partition,
    pingpong,
    rank,
    rate,
    report,
    spmv,
    study,
    tune,
)

app = typer.Typer(
    help="Measures communication layers with threads, each beside a hand-written baseline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, command in {
    "halo": halo,
    "overlap": overlap,
    "report": report,
    "memory": memory,
    "rank": rank,
    "cg": cg,
    "spmv": spmv,
    "partition": partition,
    "pingpong": pingpong,
    "rate": rate,
    "endpoints": endpoints,
    "figures": figures,
}.items():
    app.command(name)(command.command)
app.command("targets", hidden=True)(figures.command)
for name, group in {"model": model, "libs": libs, "study": study, "tune": tune}.items():
    app.add_typer(group.app, name=name)


def show_version(wanted: bool) -> None:
    """Of --version."""
    if wanted:
        typer.echo(f"omni {__version__}")
        raise typer.Exit


VERSION = typer.Option(False, "--version", is_eager=True, callback=show_version, help="Prints the version and ends.")


@app.callback()
def options(version: bool = VERSION) -> None:
    """Measures communication layers with threads, each beside a hand-written baseline."""


def main() -> None:
    """Entry point. SIGTERM is taken as Ctrl-C: what was started is ended, what was measured is kept."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    finally:
        silence_broken_pipe()


def silence_broken_pipe() -> None:
    """A reader that has seen enough is no failure to tell of at the end, when Python flushes."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""omni model show: a trace as text."""

import subprocess
from pathlib import Path

import typer

from omnipgas_tools.model import traces
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import failing

PLACE = typer.Argument(..., metavar="DIR", help="Folder of a trace, or the file of one rank.")
JSON = typer.Option(False, "--json", help="Prints lines of JSON, with everything.")


def show(place: Path = PLACE, json: bool = JSON) -> None:
    """Prints the calls of a trace, a line each."""
    with failing(ModelError):
        if json:
            raise typer.Exit(subprocess.run(traces.dump(place), check=False).returncode)
        start: int | None = None
        for line in traces.lines(place):
            if "call" in line:
                start = line["begin"] if start is None else start
                typer.echo(traces.text(line, start))

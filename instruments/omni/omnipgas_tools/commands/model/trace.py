# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace: runs a program with its MPI's or this layer's interposer, and says what was recorded."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.libraries import catalog
from omnipgas_tools.model import trace as recording
from omnipgas_tools.model.options import COMMAND, MPI
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.model.tracers import choose
from omnipgas_tools.options import progress_console

OUT = typer.Option(
    ..., "-o", "--out", metavar="DIR", help="Writes the trace to the folder DIR, which is new or has no trace."
)


def trace(command: list[str] = COMMAND, out: Path = OUT, mpi: Optional[str] = MPI) -> None:
    """Records every MPI call of an unmodified program: omni model trace -o DIR -- mpiexec -n 16 ./app"""
    console = progress_console()
    try:
        tracer = choose(catalog.build_dir(), command, mpi)
        recording.prepare(out)
    except ModelError as error:
        raise typer.BadParameter(str(error)) from error
    status = recording.run(command, tracer, out)
    try:
        complete = recording.report(console, out)
    except ModelError as error:
        console.print(f"error: {error}", style="red", soft_wrap=True)
        complete = []
    recording.write_description(out, command, tracer, status, complete)
    if status != 0:
        console.print(f"the program ended with status {status}", soft_wrap=True)
    raise typer.Exit(status or (0 if complete else 1))

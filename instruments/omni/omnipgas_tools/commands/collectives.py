# SPDX-License-Identifier: BSD-3-Clause
"""omni collectives: runs an MPI program whose collectives this layer serves."""

from typing import Optional

import typer

from omnipgas_tools.collectives import run
from omnipgas_tools.libraries import catalog
from omnipgas_tools.model.options import COMMAND, MPI
from omnipgas_tools.model.program import ModelError

STATISTICS = typer.Option(
    False, "--statistics", help="Prints how many calls of each function rank 0 had served and passed on."
)


def command(command: list[str] = COMMAND, mpi: Optional[str] = MPI, statistics: bool = STATISTICS) -> None:
    """Run an MPI program with its collectives served by this layer: omni collectives -- mpiexec -n 4 ./app"""
    try:
        library = run.interposer(catalog.build_dir(), command, mpi)
        status = run.run(command, library, statistics)
    except (ModelError, catalog.MissingError) as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(status)

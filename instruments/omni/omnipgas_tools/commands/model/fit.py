# SPDX-License-Identifier: BSD-3-Clause
"""omni model fit: measures round trips between two ranks and fits the parameters of LogGPS and its relatives."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools import options
from omnipgas_tools.model.fit import machine, parameter_file

LIBRARY = options.mpi(
    None, "MPI to measure: mpich, openmpi, intel, mpich-debian, openmpi-debian; or ompl, this layer.", "NAME"
)
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Writes the parameters to FILE.")
AGAIN = typer.Option(None, "--from", metavar="FILE", help="Fits again what the parameter file FILE has measured.")
OVER = options.over(None, "Transport of ompl, instead of memory: {transports}.")
LARGEST = typer.Option(None, "--largest", min=1024, help="Longest message, in bytes. [4 MiB; quick: 1 MiB]")
ROUNDS = typer.Option(None, "--rounds", min=3, help="Rounds over all lengths. [30; quick: 6]")
QUICKLY = options.quick("Measures fewer and shorter rounds, and fewer lengths.")
TIMEOUT = options.timeout(30.0)
PLOT = typer.Option(
    None, "--plot", metavar="FILE", help="Writes a plot of measured and modelled round trips to FILE, as PNG or SVG."
)
SEED = options.seed(1, "the order of measurements and of the intervals")


def fit(
    out: Path = OUT,
    mpi: Optional[str] = LIBRARY,
    again: Optional[Path] = AGAIN,
    over: Optional[str] = OVER,
    hosts: int = options.TWO_HOSTS,
    rate: Optional[int] = options.RATE,
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
    options.check_writable(plot, "--plot")
    console = options.progress_console()
    wanted = machine.plan(quick, timeout=timeout, seed=seed, largest=largest, rounds=rounds)
    with options.failing(*machine.FAILURES):
        if mpi is not None:
            machine.fit_library(console, mpi, out, wanted, over=over, hosts=hosts, rate=rate, plot=plot)
        elif again is not None:
            machine.finish(console, *parameter_file.read_measurements(again), seed, out, plot)

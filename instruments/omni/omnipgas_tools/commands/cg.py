# SPDX-License-Identifier: BSD-3-Clause
"""omni cg: solves a system of equations by the ranks of a job."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.options import GENERATE, HOSTS, JSON, MATRIX, RATE, check_writable, on_hosts
from omnipgas_tools.solver.jobs import SOLVERS, Where, options
from omnipgas_tools.solver.options import FORMAT, MPI, PARTITION, RANKS, SOLUTION, STRATEGY, THREADS, TIMEOUT
from omnipgas_tools.solver.report import run

ALL = "all"

RHS = typer.Option(None, "--rhs", metavar="FILE", help="Reads b from FILE, a Matrix Market array. [A times ones]")
START = typer.Option(None, "--start", metavar="FILE", help="Reads the first x from FILE, such as a checkpoint. [0]")
SOLVER = typer.Option(
    "cg", "--solver", help=f"Plain, Gropp's or pipelined CG: {', '.join(SOLVERS)}; {ALL} compares them."
)
PRECOND = typer.Option("none", "--precond", help="Preconditioner: none, jacobi or bjacobi (ILU(0) in blocks).")
BLOCKS = typer.Option(1, "--blocks", min=1, help="Blocks of bjacobi in each rank.")
TOL = typer.Option(1e-8, "--tol", help="Solves until |r| / |b| is at most this.")
MAX_ITERATIONS = typer.Option(10000, "--max-iterations", min=0, help="Iterations at most.")
CHECKPOINT = typer.Option(None, "--checkpoint", metavar="FILE", help="Writes x to FILE while it solves.")
EVERY = typer.Option(100, "--checkpoint-every", min=1, help="Iterations between checkpoints.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Writes a plot of the residuals to FILE, as PNG or SVG.")


def command(
    generate: Optional[str] = GENERATE,
    matrix: Optional[Path] = MATRIX,
    ranks: int = RANKS,
    threads: int = THREADS,
    strategy: str = STRATEGY,
    partition: str = PARTITION,
    format: str = FORMAT,
    solver: str = SOLVER,
    precond: str = PRECOND,
    blocks: int = BLOCKS,
    tol: float = TOL,
    max_iterations: int = MAX_ITERATIONS,
    rhs: Optional[Path] = RHS,
    start: Optional[Path] = START,
    solution: Optional[Path] = SOLUTION,
    checkpoint: Optional[Path] = CHECKPOINT,
    checkpoint_every: int = EVERY,
    mpi: Optional[str] = MPI,
    hosts: int = HOSTS,
    rate: Optional[int] = RATE,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    timeout: float = TIMEOUT,
) -> None:
    """Solves A x = b by conjugate gradients."""
    arguments = options(
        generate=generate, matrix=matrix, threads=threads, strategy=strategy, partition=partition, format=format,
        precond=precond, blocks=blocks, tol=tol, max_iterations=max_iterations, rhs=rhs, start=start,
        solution=solution, checkpoint=checkpoint, checkpoint_every=checkpoint_every,
    )  # fmt: skip
    if solver == ALL and (solution or checkpoint or plot):
        raise typer.BadParameter("--solver all writes no --solution, --checkpoint or --plot: take one solver")
    check_writable(json, "--json")
    check_writable(plot, "--plot")
    shown = [] if solver == ALL else ["--progress"]
    solvers = SOLVERS if solver == ALL else [solver]
    with on_hosts(hosts, ranks, rate) as there:
        jobs = [["cg", *arguments, *options(solver=one), *shown] for one in solvers]
        raise typer.Exit(run(jobs, Where(ranks, mpi, timeout, there), json, plot))

# SPDX-License-Identifier: BSD-3-Clause
"""omni spmv: multiplies a matrix with a vector by the ranks of a job."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.options import GENERATE, HOSTS, JSON, MATRIX, RATE, check_writable, on_hosts
from omnipgas_tools.solver.jobs import Where, options
from omnipgas_tools.solver.options import FORMAT, MPI, PARTITION, RANKS, SOLUTION, STRATEGY, THREADS, TIMEOUT
from omnipgas_tools.solver.report import run

DOT = typer.Option(False, "--dot", help="Sums x . A x over all ranks after each product.")
PRODUCTS = typer.Option(100, "--iterations", min=1, help="Number of products.")


def command(
    generate: Optional[str] = GENERATE,
    matrix: Optional[Path] = MATRIX,
    ranks: int = RANKS,
    threads: int = THREADS,
    strategy: str = STRATEGY,
    partition: str = PARTITION,
    format: str = FORMAT,
    iterations: int = PRODUCTS,
    dot: bool = DOT,
    solution: Optional[Path] = SOLUTION,
    mpi: Optional[str] = MPI,
    hosts: int = HOSTS,
    rate: Optional[int] = RATE,
    json: Optional[str] = JSON,
    timeout: float = TIMEOUT,
) -> None:
    """Multiplies A with the vector of x[i] = 1 + i % 7, again and again."""
    arguments = options(
        generate=generate, matrix=matrix, threads=threads, strategy=strategy, partition=partition, format=format,
        iterations=iterations, solution=solution,
    )  # fmt: skip
    arguments += ["--dot"] if dot else []
    check_writable(json, "--json")
    with on_hosts(hosts, ranks, rate) as there:
        raise typer.Exit(run([["spmv", *arguments]], Where(ranks, mpi, timeout, there), json))

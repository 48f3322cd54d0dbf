# SPDX-License-Identifier: BSD-3-Clause
"""Options that omni cg and omni spmv share."""

import typer

from omnipgas_tools.options import mpi, timeout
from omnipgas_tools.solver.jobs import STRATEGIES
from omnipgas_tools.solver.partition import KINDS

RANKS = typer.Option(1, "--ranks", min=1, help="Ranks of the job.")
THREADS = typer.Option(1, "--threads", min=1, help="Threads per rank.")
STRATEGY = typer.Option("double-buffer", "--strategy", help=f"Strategy of the halo exchange: {', '.join(STRATEGIES)}.")
PARTITION = typer.Option("row", "--partition", help=f"How rows are assigned to ranks: {', '.join(KINDS)}.")
FORMAT = typer.Option("csr", "--format", help="Format of the matrix in memory: csr or sell.")
SOLUTION = typer.Option(
    None, "--solution", metavar="FILE",
    help="Writes the result to FILE in the matrix's order, as a Matrix Market array.",
)  # fmt: skip
MPI = mpi(
    None, "MPI that starts the ranks, which exchanges by MPI need: mpich, openmpi, intel, ... [none: omplrun]", "NAME"
)
TIMEOUT = timeout(3600.0, "the job is ended")

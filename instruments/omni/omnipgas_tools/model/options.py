# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands of omni model have, and the console of their answers."""

from typing import Any

import typer
from rich.console import Console

from omnipgas_tools.options import mpi, timeout

MACHINES = "cenju4, myrinet, fast-ethernet"
RECORDS = 2_000_000

INPUT = typer.Argument(..., metavar="TRACE", help="Folder of a trace, NAME.otf2, GOAL file, or ring:64:1000:8.")
COMMAND = typer.Argument(..., metavar="COMMAND...", help="The program as one would start it: -- mpiexec -n 16 ./app")
PARAMS = typer.Option(..., "--params", metavar="FILE", help=f"File of parameters, or {MACHINES}.")
FITTED = typer.Option(None, "--params", metavar="FILE", help=f"File of parameters, or {MACHINES}. [fitted now]")
MODEL = typer.Option("loggps", "--model", help="Model: loggps, loggp-1, loggp-2, loggops-mpi, curve.")
JSON = typer.Option(
    None, "--json", metavar="FILE", help="Writes the whole result as JSON to FILE; - is standard output."
)
SHARING = typer.Option(True, "--sharing/--no-sharing", help="Whether messages to one receiver share its bandwidth.")
BUFFER = typer.Option(
    0, "--eager-buffer", min=0, metavar="BYTES",
    help="Bytes that one rank may send another before they are received; 0: any number.",
)  # fmt: skip
JOBS = typer.Option(None, "--jobs", min=1, help="Replays at a time. [one for each core that omni may use]")
THREADS = typer.Option(
    None, "--threads", min=1, max=1024,
    help="Threads of a replay. [one for each core that omni may use, if there are 256 ranks or more]",
)  # fmt: skip
MPI = mpi(None, "Interposer to use. [that of the program's MPI]", "NAME")
RUNS = typer.Option(5, "--runs", min=1, help="Number of untraced runs.")
TIMEOUT = timeout(600.0, "one run counts as hung")
MOST = typer.Option(
    RECORDS, "--records", min=1, help="Intervals and messages drawn at most; the first ones of each rank are kept."
)


def replay_options(
    sharing: bool, eager_buffer: int | None = None, jobs: int | None = None, threads: int | None = None, **more: Any
) -> list[str]:
    """As ompl-model is told them; what is None is left to it."""
    given = {"eager_buffer": eager_buffer, "jobs": jobs, "threads": threads, **more}
    made = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return made if sharing else [*made, "--no-sharing"]


def answers(json: str | None) -> Console:
    """For what a command found; the result file may want standard output."""
    return Console(stderr=json == "-", highlight=False, markup=False, emoji=False)

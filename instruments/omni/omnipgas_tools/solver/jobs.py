# SPDX-License-Identifier: BSD-3-Clause
"""Starts the solver's ranks and reads what they find."""

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.status import Status

from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network
from omnipgas_tools.model import examples
from omnipgas_tools.solver.partition import program

SOLVERS = ("cg", "groppcg", "pipecg")
STRATEGIES = (*halo_rounds.STRATEGIES, halo_rounds.AUTO)
# In its folder, or where ld.so looks.
MPI_LIBRARIES = {
    "mpich": "libmpi.so.12",
    "openmpi": "libmpi.so.40",
    "intel": "libmpi.so.12",
    "mpich-debian": "libmpich.so.12",
    "openmpi-debian": "libmpi.so.40",
}


def options(**values: object) -> list[str]:
    """As the program is told them; it says what is wrong with them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value is not None]


@dataclass(frozen=True)
class Where:
    """How a job is started."""

    ranks: int
    mpi: str | None  # the MPI that starts it
    timeout: float  # seconds
    hosts: catalog.Hosts | None = None  # else this machine as it is


def job(arguments: Sequence[str], where: Where) -> tuple[list[str], dict[str, str]]:
    """The command line and the variables of a job. Raises catalog.MissingError."""
    build = catalog.build_dir()
    cg_program = program("ompl_cg")
    asked = network.between(where.hosts) if where.hosts else {}
    if where.mpi is None:
        launcher = catalog.find_program(catalog.table(build)["ompl"], "omplrun", build, None)
        command = [str(launcher), "--no-prefix", "--timeout", str(where.timeout)]
        launch = examples.Launch(catalog.LAUNCHER, command, hosts=where.hosts)
        return launch.line(where.ranks, cg_program, arguments), launch.environment(asked)
    launch = examples.launch(build, where.mpi, where.ranks, where.hosts)
    if where.mpi not in MPI_LIBRARIES:
        known = ", ".join(MPI_LIBRARIES)
        raise catalog.MissingError(f"the library of {where.mpi} is not known here; --mpi takes {known}")
    prefix = catalog.find_prefix(catalog.table(build)[where.mpi], build)
    library = prefix / "lib" / MPI_LIBRARIES[where.mpi] if prefix else MPI_LIBRARIES[where.mpi]
    command = launch.line(where.ranks, Path("env"), [f"LD_PRELOAD={library}", str(cg_program), *arguments])
    return command, launch.environment(asked, {"MPIEXEC_TIMEOUT": str(math.ceil(where.timeout))})


class SolveError(Exception):
    """A job found nothing; it has said why."""


def result_of(arguments: Sequence[str], ranks: int, mpi: str | None, timeout: float) -> dict[str, Any]:
    """What a job finds, whether it has converged or not. Raises SolveError, catalog.MissingError."""
    command, environment = job(arguments, Where(ranks, mpi, timeout))
    result, code = follow(command, environment, Console(quiet=True))
    if result is None:
        raise SolveError(f"{' '.join(command)}: ended with status {code} and no result")
    return result


def follow(command: Sequence[str], environment: dict[str, str], console: Console) -> tuple[dict[str, Any] | None, int]:
    """What the job found, if anything, and its exit status; meanwhile a line of progress, on a terminal."""
    result = None
    with (
        Status("", console=console) as status,
        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run,
    ):
        assert run.stdout is not None
        try:
            for line in run.stdout:
                said = json.loads(line)
                result = said.get("result", result)
                if at := said.get("progress"):
                    status.update(f"iteration {at['iteration']}: residual {residual_text(at['relative_residual'])}")
            return result, run.wait()
        finally:
            run.terminate()  # if we are interrupted


def residual_text(value: float | None) -> str:
    """Of |r| / |b|."""
    return "not finite" if value is None else f"{value:.3e}"

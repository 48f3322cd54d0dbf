# SPDX-License-Identifier: BSD-3-Clause
"""omni cg and omni spmv: start the solver's ranks and show what they found."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.status import Status
from rich.table import Table

from omnipgas_tools.commands.partition import GENERATE, KINDS, MATRIX, program
from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure import network, results
from omnipgas_tools.model import examples
from omnipgas_tools.options import HOSTS, INTERRUPTED, RATE, on_hosts

SOLVERS = ("cg", "groppcg", "pipecg")
ALL = "all"
STRATEGIES = (*halo_rounds.STRATEGIES, halo_rounds.AUTO)
# In its folder, or where ld.so looks.
MPI_LIBRARIES = {
    "mpich": "libmpi.so.12",
    "openmpi": "libmpi.so.40",
    "intel": "libmpi.so.12",
    "mpich-debian": "libmpich.so.12",
    "openmpi-debian": "libmpi.so.40",
}

RANKS = typer.Option(1, "--ranks", min=1, help="Processes.")
THREADS = typer.Option(1, "--threads", min=1, help="Threads of each rank.")
STRATEGY = typer.Option("double-buffer", "--strategy", help=f"Of the halo exchange: {', '.join(STRATEGIES)}.")
PARTITION = typer.Option("row", "--partition", help=f"Who has which rows: {', '.join(KINDS)}.")
FORMAT = typer.Option("csr", "--format", help="csr or sell.")
SOLUTION = typer.Option(None, "--solution", metavar="FILE", help="Result in the matrix's order, Matrix Market array.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")
MPI = typer.Option(
    None, "--mpi", metavar="NAME", help="MPI that starts the ranks, for exchanges by it: mpich, openmpi, intel, ..."
)
TIMEOUT = typer.Option(3600.0, "--timeout", min=0.1, help="Seconds until the job is ended.")
RHS = typer.Option(None, "--rhs", metavar="FILE", help="b, a Matrix Market array. [A times ones]")
START = typer.Option(None, "--start", metavar="FILE", help="x to start from, for example a checkpoint. [0]")
SOLVER = typer.Option(
    "cg", "--solver", help=f"Plain, Gropp's or pipelined CG: {', '.join(SOLVERS)}; {ALL} compares them."
)
PRECOND = typer.Option("none", "--precond", help="none, jacobi or bjacobi (ILU(0) in blocks).")
BLOCKS = typer.Option(1, "--blocks", min=1, help="Blocks of bjacobi in each rank.")
TOL = typer.Option(1e-8, "--tol", help="Of |r| / |b|.")
MAX_ITERATIONS = typer.Option(10000, "--max-iterations", min=0)
CHECKPOINT = typer.Option(None, "--checkpoint", metavar="FILE", help="Where x is written on the way.")
EVERY = typer.Option(100, "--checkpoint-every", min=1, help="Iterations between checkpoints.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Residual history, PNG or SVG.")
DOT = typer.Option(False, "--dot", help="Sum x . A x over all ranks behind each.")
PRODUCTS = typer.Option(100, "--iterations", min=1, help="Products.")


def cg(
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
    arguments = _options(
        generate=generate, matrix=matrix, threads=threads, strategy=strategy, partition=partition, format=format,
        precond=precond, blocks=blocks, tol=tol, max_iterations=max_iterations, rhs=rhs, start=start,
        solution=solution, checkpoint=checkpoint, checkpoint_every=checkpoint_every,
    )  # fmt: skip
    if solver == ALL and (solution or checkpoint or plot):
        raise typer.BadParameter("--solver all writes no --solution, --checkpoint or --plot: take one solver")
    with on_hosts(hosts, ranks, rate) as there:
        where = Where(ranks, mpi, timeout, there)
        if solver == ALL:
            raise typer.Exit(_compare(["cg", *arguments], where, json))
        raise typer.Exit(_run(["cg", *arguments, *_options(solver=solver), "--progress"], where, json, plot))


def spmv(
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
    arguments = _options(
        generate=generate, matrix=matrix, threads=threads, strategy=strategy, partition=partition, format=format,
        iterations=iterations, solution=solution,
    )  # fmt: skip
    arguments += ["--dot"] if dot else []
    with on_hosts(hosts, ranks, rate) as there:
        raise typer.Exit(_run(["spmv", *arguments], Where(ranks, mpi, timeout, there), json, None))


def _options(**values: object) -> list[str]:
    """As the program is told them; it says what is wrong with them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value is not None]


@dataclass(frozen=True)
class Where:
    """How a job is started."""

    ranks: int
    mpi: str | None  # the MPI that starts it
    timeout: float  # seconds
    hosts: peers.Hosts | None = None  # else this machine as it is


def _job(arguments: Sequence[str], where: Where) -> tuple[list[str], dict[str, str]]:
    """The command line and the variables of a job. Raises peers.MissingError."""
    build = peers.build_dir()
    cg_program = program("ompl_cg")
    asked = network.between(where.hosts) if where.hosts else {}
    if where.mpi is None:
        launcher = peers.find_program(peers.table(build)["ompl"], "omplrun", build, None)
        command = [str(launcher), "--no-prefix", "--timeout", str(where.timeout)]
        launch = examples.Launch(peers.LAUNCHER, command, hosts=where.hosts)
        return launch.line(where.ranks, cg_program, arguments), launch.environment(asked)
    launch = examples.launch(build, where.mpi, where.ranks, where.hosts)
    if where.mpi not in MPI_LIBRARIES:
        known = ", ".join(MPI_LIBRARIES)
        raise peers.MissingError(f"the library of {where.mpi} is not known here; --mpi takes {known}")
    prefix = peers.find_prefix(peers.table(build)[where.mpi], build)
    library = prefix / "lib" / MPI_LIBRARIES[where.mpi] if prefix else MPI_LIBRARIES[where.mpi]
    command = launch.line(where.ranks, Path("env"), [f"LD_PRELOAD={library}", str(cg_program), *arguments])
    return command, launch.environment(asked, {"MPIEXEC_TIMEOUT": str(math.ceil(where.timeout))})


def _run(arguments: Sequence[str], where: Where, json_path: str | None, plot: Path | None) -> int:
    """Starts the ranks, shows and writes the result; the exit status."""
    console = Console(stderr=json_path == "-")
    found, code = _found([arguments], where, console)
    if not found:
        return code
    _show(console, found[0])
    if json_path:
        results.write(json_path, found[0])
    if plot:
        from omnipgas_tools.report import plots

        plots.residuals(plot, found[0])
        console.print(f"Plot: {plot}")
    return code


def _compare(arguments: Sequence[str], where: Where, json_path: str | None) -> int:
    """A job for each solver; shows and writes what they found; the exit status."""
    console = Console(stderr=json_path == "-")
    found, code = _found([[*arguments, *_options(solver=solver)] for solver in SOLVERS], where, console)
    if len(found) < len(SOLVERS):
        return code
    console.print(_comparison(found))
    if json_path:
        results.write(json_path, {"solvers": found})
    return code


def _found(
    jobs: Sequence[Sequence[str]], where: Where, console: Console
) -> tuple[list[dict[str, Any]], int]:
    """What jobs found, one after the other, up to one that found nothing; the first exit status that is not 0."""
    found: list[dict[str, Any]] = []
    status = 0
    try:
        for arguments in jobs:
            result, code = _follow(*_job(arguments, where), console)
            if result is None:
                return found, code or 1
            found.append(result)
            status = status or code
    except peers.MissingError as missing:
        print(f"omni: {missing}", file=sys.stderr)
        return found, 1
    except KeyboardInterrupt:
        return found, INTERRUPTED
    return found, status


def _comparison(found: Sequence[dict[str, Any]]) -> Table:
    """A row for each solver; the time of an iteration also over that of the first."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("solver")
    for head in ("iterations", "sums", "ms an\niteration", "of cg's", "of these\nfor sums", "true\nresidual"):
        table.add_column(head, justify="right")
    for one in found:
        each = one["seconds_per_iteration"]
        table.add_row(
            one["solver"], str(one["iterations"]), str(one["reductions"]), f"{each * 1e3:.3f}",
            f"{each / found[0]['seconds_per_iteration']:.2f}", f"{one['split']['reduction'] * 1e3:.3f}",
            _residual(one["true_relative_residual"]),
        )  # fmt: skip
    return table


class SolveError(Exception):
    """A job found nothing; it has said why."""


def result_of(arguments: Sequence[str], ranks: int, mpi: str | None, timeout: float) -> dict[str, Any]:
    """What a job finds, whether it has converged or not. Raises SolveError, peers.MissingError."""
    command, environment = _job(arguments, Where(ranks, mpi, timeout))
    result, code = _follow(command, environment, Console(quiet=True))
    if result is None:
        raise SolveError(f"{' '.join(command)}: ended with status {code} and no result")
    return result


def _follow(command: Sequence[str], environment: dict[str, str], console: Console) -> tuple[dict[str, Any] | None, int]:
    """What the job found, if anything, and its exit status; meanwhile a line of progress, on a terminal."""
    result = None
    with (
        Status("", console=console) as status,
        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as job,
    ):
        assert job.stdout is not None
        try:
            for line in job.stdout:
                said = json.loads(line)
                result = said.get("result", result)
                if at := said.get("progress"):
                    status.update(f"iteration {at['iteration']}: residual {_residual(at['relative_residual'])}")
            return result, job.wait()
        finally:
            job.terminate()  # if we are interrupted


def _residual(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3e}"


def _show(console: Console, result: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None)
    for name, text in _rows(result):
        table.add_row(name, text)
    console.print(table)


def _rows(r: dict[str, Any]) -> list[tuple[str, str]]:
    cost = r["quality"]
    rows = [
        ("matrix", f"{r['matrix']}: {r['rows']} rows, {r['entries']} entries, {r['format']} ({r['instructions']})"),
        ("ranks", f"{r['ranks']} of {r['threads']} threads, {r['strategy_used'] or 'auto, which has not chosen yet'}"),
        (
            "partition",
            f"{r['partition']}: cut {cost['cut']}, halo {cost['halo']}, "
            f"neighbours {cost['neighbours_mean']:.1f} (most {cost['neighbours_most']}), "
            f"smallest message {cost['smallest_message_bytes']} B, "
            f"interior rows at least {cost['interior_least']:.0%}",
        ),
        ("set up", f"{r['setup_seconds']:.3f} s"),
        ("iterations", f"{r['iterations']} of {r['seconds_per_iteration'] * 1e3:.3f} ms"),
        ("of these", ", ".join(f"{k.replace('_', ' ')} {v * 1e3:.3f} ms" for k, v in r["split"].items())),
    ]
    if measured := r["strategies_us"]:
        rows.insert(2, ("from start to start", ", ".join(f"{name} {us:.1f} us" for name, us in measured.items())))
    if r["command"] == "cg":
        history = r["history"]
        rows.append(("solver", f"{r['solver']}, {r['reductions']} sums over the ranks by {r['reductions_by']}"))
        chosen = [i for i in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if i < len(history) - 1]
        rows += [("residual", f"{_residual(history[i])} after {i}") for i in chosen]
        rows += [
            ("residual", f"{_residual(r['relative_residual'])} at the end, {r['stop']}"),
            ("true residual", _residual(r["true_relative_residual"])),
        ]
    return rows

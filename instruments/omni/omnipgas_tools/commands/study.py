# SPDX-License-Identifier: BSD-3-Clause
"""omni study halo: double-buffered halo exchange in products and CG beside plain RDMA and MPI, on row blocks and METIS
partitions; measured where there are cores for it, modelled for more parts."""

from pathlib import Path
from typing import Any, Optional

import typer

from omnipgas_tools import files, options
from omnipgas_tools.libraries import catalog
from omnipgas_tools.model.study import read_pair
from omnipgas_tools.study import tables
from omnipgas_tools.study.plan import MOST_RANKS, Plan
from omnipgas_tools.study.steps import FAILURES, SECTIONS, Study, parameters
from omnipgas_tools.study.store import Store

FULL = {"generate": "27pt:100", "parts": "4,8,16,32,64,100", "rates": "100,1000", "rounds": 30,
        "neighbors": "1,2,4,8,17"}  # fmt: skip
QUICK = {"generate": "27pt:16", "parts": "2,4", "rates": "", "rounds": 3, "neighbors": "1,2"}
ITERATIONS, FEW = 50, 10
SECONDS, SHORT = 0.02, 0.002  # of a block of exchanges

app = options.group("The papers' studies.", no_args_is_help=True)

GENERATE = typer.Option(
    None, "--generate", metavar="WHAT", help="Generates the matrix, as omni cg does. [27pt:100; quick: 27pt:16]"
)
MATRIX = typer.Option(
    None, "--matrix", metavar="FILE", help="Reads the matrix instead: Matrix Market, Harwell- or Rutherford-Boeing."
)
PARTS = typer.Option(
    None, "--parts",
    help=f"Numbers of modelled parts, comma-separated; up to {MOST_RANKS} are also measured."
    " [4,8,16,32,64,100; quick: 2,4]",
)  # fmt: skip
MPI = options.mpi("mpich", "MPI in whose processes all strategies run, and by whose time theirs are divided.")
PARAMS = typer.Option(
    [], "--params", metavar="NAME=FILE",
    help="Parameters of the MPI, or of ompl, as omni model fit writes them; repeatable. [fitted now]",
)  # fmt: skip
RATES = typer.Option(
    None, "--rates", help="Rates of links between two hosts (root), in Mbit/s, comma-separated; empty: none. [100,1000]"
)
CHOSEN = typer.Option(",".join(SECTIONS), "--sections", help="Sections of the study, comma-separated.")
ROUNDS = typer.Option(None, "--rounds", min=1, help="Rounds of measurements at most. [30; quick: 3]")
NOISE = typer.Option(
    0.0, "--noise", min=0, help="Mean part by which modelled computation takes longer; 0.1 is 10 percent."
)
RESET = typer.Option(
    100.0, "--reset-ns", min=0, help="Modelled nanoseconds to reset a mark, whose cache line comes and goes."
)
OUT = typer.Option(
    ..., "-o", "--out", metavar="FILE", help="Writes the result to FILE, as JSON; tables and plot go beside it."
)
RESUME = typer.Option(False, "--resume", help="Keeps what the result file has and measures the rest.")
QUICKLY = options.quick("Takes a small matrix, few parts and short rounds.")
TIMEOUT = options.timeout(600.0, "one job counts as hung")
SEED = options.seed(1, "the order of measurements and of the noise")


@app.callback()
def studies() -> None:
    """The papers' studies."""


@app.command()
def halo(
    out: Path = OUT,
    generate: Optional[str] = GENERATE,
    matrix: Optional[Path] = MATRIX,
    parts: Optional[str] = PARTS,
    mpi: str = MPI,
    params: list[str] = PARAMS,
    rates: Optional[str] = RATES,
    sections: str = CHOSEN,
    rounds: Optional[int] = ROUNDS,
    noise: float = NOISE,
    reset_ns: float = RESET,
    resume: bool = RESUME,
    quick: bool = QUICKLY,
    timeout: float = TIMEOUT,
    seed: int = SEED,
) -> None:
    """Halo exchange in products and CG: omni study halo -o halo.json"""
    usual: dict[str, Any] = QUICK if quick else FULL
    if matrix is None and generate is None:
        generate = usual["generate"]
    links = usual["rates"] if rates is None else rates
    plan = Plan(
        matrix=options.matrix_source(generate, matrix),
        parts=options.numbers("--parts", parts or usual["parts"], 2),
        ranks=[ranks for ranks in (2, 4, 8, 16) if ranks <= min(MOST_RANKS, catalog.cores())],
        neighbors=options.numbers("neighbors", usual["neighbors"], 1),
        rates=options.numbers("--rates", links, 1) if links else [],
        mpi=mpi,
        iterations=FEW if quick else ITERATIONS,
        rounds=rounds or usual["rounds"],
        seconds=SHORT if quick else SECONDS,
        noise=noise,
        reset_ns=reset_ns,
        timeout=timeout,
        seed=seed,
    )
    chosen = options.words("--sections", sections, list(SECTIONS))
    options.check_writable(out, "-o")
    console = options.progress_console()
    try:
        given = dict(read_pair(text) for text in params)
        fitted = parameters(plan, given, out, quick) if "modelled" in chosen else {}
        store = Store(out, plan, fitted, resume)
        Study(plan, fitted, store, console).run(chosen)
    except FAILURES as error:
        options.fail(error, error)
    except KeyboardInterrupt as stop:
        console.print(f"Interrupted; --resume goes on with {out}.")
        raise typer.Exit(options.INTERRUPTED) from stop
    text = tables.text(store.content)
    files.write(out.with_suffix(".md"), text)
    typer.echo(text)
    from omnipgas_tools.study import plot

    plot.plot(out.with_suffix(".png"), store.content)
    console.print(f"Plot: {out.with_suffix('.png')}")

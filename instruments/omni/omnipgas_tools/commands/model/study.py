# SPDX-License-Identifier: BSD-3-Clause
"""omni model study gauss: Gaussian elimination predicted and measured, laid out as tables 7 and 10 of the LogGPS
paper."""

import json
from pathlib import Path

import typer

from omnipgas_tools import files
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.model import study as gauss
from omnipgas_tools.model.options import TIMEOUT
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import check_writable, failing, progress_console, sizes

NAME = typer.Argument(..., metavar="gauss", help="Which study.")
PARAMS = typer.Option(
    ..., "--params", metavar="MPI=FILE", help="Fitted parameters of an MPI; once for each MPI that is studied."
)
SIZES = sizes("256,512,1024,2048,4096", "Sizes of the matrix, comma-separated.")
RANKS = typer.Option(2, "--ranks", min=2, help="Ranks of the program.")
RUNS = typer.Option(
    5, "--runs", min=1, help="Rounds; in each every variant is traced and predicted, then runs untraced."
)
LIMIT = typer.Option(
    16383, "--eager", min=8, help="S of the original, in bytes; it is set in the library where that is possible."
)
OUT = typer.Option(
    ..., "-o", "--out", metavar="FILE", help="Writes the result to FILE, as JSON; the tables go beside it, as .md."
)


def study(
    name: str = NAME,
    params: list[str] = PARAMS,
    sizes: str = SIZES,
    ranks: int = RANKS,
    runs: int = RUNS,
    eager_limit: int = LIMIT,
    out: Path = OUT,
    timeout: float = TIMEOUT,
) -> None:
    """Predicts and measures an example in its variants: omni model study gauss --params mpich=p.json -o s.json"""
    if name != "gauss":
        raise typer.BadParameter(f"no study {name}; there is gauss")
    fitted = dict(gauss.read_pair(text) for text in params)
    plan = gauss.Plan(gauss.read_sizes(sizes), ranks, runs, eager_limit, timeout)
    check_writable(out, "-o")
    console = progress_console()
    with failing(ModelError, MissingError):
        found = gauss.run(plan, fitted, console)
    files.write(out, json.dumps(found, indent=1) + "\n")
    files.write(out.with_suffix(".md"), gauss.tables(found))
    typer.echo(gauss.tables(found))

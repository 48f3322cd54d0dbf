# SPDX-License-Identifier: BSD-3-Clause
"""omni model validate: runs a program, and says how far its predicted time is from the measured one."""

import tempfile
from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results
from omnipgas_tools.model import validate as validation
from omnipgas_tools.model.options import COMMAND, FITTED, JSON, MODEL, MPI, RUNS, SHARING, TIMEOUT, answers
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.model.tracers import choose
from omnipgas_tools.options import check_writable, failing

OUT = typer.Option(None, "-o", "--out", metavar="DIR", help="Keeps the trace in the folder DIR. [it is not kept]")


def validate(
    command: list[str] = COMMAND,
    params: Optional[str] = FITTED,
    model: str = MODEL,
    runs: int = RUNS,
    out: Optional[Path] = OUT,
    mpi: Optional[str] = MPI,
    json: Optional[str] = JSON,
    timeout: float = TIMEOUT,
    sharing: bool = SHARING,
) -> None:
    """Predicted against measured: omni model validate --params params.json -- mpiexec -n 2 ./app"""
    check_writable(json, "--json")
    with failing(ModelError), tempfile.TemporaryDirectory(prefix="omni-validate-") as scratch:
        tracer = choose(catalog.build_dir(), command, mpi)
        folder, fitted = out or Path(scratch, "trace"), Path(scratch, "params.json")
        result, _ = validation.validated(
            command, tracer, folder, params, fitted, model=model, runs=runs, timeout=timeout, sharing=sharing
        )
        if json:
            results.write(json, result)
    validation.show(answers(json), result)

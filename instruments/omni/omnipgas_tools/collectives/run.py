# SPDX-License-Identifier: BSD-3-Clause
"""Runs an MPI program whose collectives this layer serves."""

import os
import subprocess
from pathlib import Path

from omnipgas_tools.collectives.build_interposers import Recipe, compile_interposer, name_of
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.compilers import Target, targets
from omnipgas_tools.model.tracers import fitting


def interposer(build: Path, command: list[str], mpi: str | None) -> Path:
    """That of the program's MPI, found as the tracer's is; an installation compiles it now. Raises MissingError."""
    names = [tracer.name for tracer in fitting(build, command, mpi)]
    target = next((target for target in targets(build)[0] if names == [target.name]), None)
    if target is None:
        raise catalog.MissingError(f"no collectives are served for {', '.join(names)}: name one MPI with --mpi")
    file = installation.ready(build, target, name_of(target.name), lambda place: _compile(build, target, place))
    if not file.is_file():
        raise catalog.MissingError(f"{file} does not exist: build it (make)")
    return file


def _compile(build: Path, target: Target, place: Path) -> str:
    installed = catalog.sources(build)
    assert installed
    recipe = Recipe(place, installed / "mpi_collectives", installation.layer(build), [f"-I{installed / 'include'}"])
    return compile_interposer(target, recipe)


def run(command: list[str], library: Path, statistics: bool) -> int:
    """The program's exit status."""
    others = os.environ.get("LD_PRELOAD")
    added = {"LD_PRELOAD": f"{library}:{others}" if others else str(library)}
    if statistics:
        added["OMPL_COLL_MPI_STATISTICS"] = "1"
    try:
        return subprocess.run(command, env={**os.environ, **added}, check=False).returncode
    except OSError as error:
        raise catalog.MissingError(f"{command[0]}: {error.strerror}") from error

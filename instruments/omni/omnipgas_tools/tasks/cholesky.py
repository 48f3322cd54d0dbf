# SPDX-License-Identifier: BSD-3-Clause
"""Cholesky factorization in tiles, by the example of this layer's tasks and by three forms over MPI with OpenMP: the
same kernels, the same tiles on the same ranks."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import SKIP_CXX, target_of
from omnipgas_tools.measure.rounds import OK, Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model import examples
from omnipgas_tools.tasks import plan, runs
from omnipgas_tools.tasks.plan import Contender, Layout
from omnipgas_tools.tasks.programs import made_by

MINE = "tasks over ompl"
FORMS = {
    "fork-join": "fork_join",
    "tasks, THREAD_MULTIPLE": "multiple",
    "tasks, one thread communicates": "communicator",
}
SOURCES = CHECKOUT / "instruments/bench/tasks"
SECONDS = re.compile(r"ranks: (\S+) s, residual (\S+)")


def program(build: Path, form: str, mpi: str) -> Path:
    """Of an MPI form, compiled if need be. Raises MissingError, FailedError."""
    source = SOURCES / f"cholesky_{FORMS[form]}.cpp"
    if not source.is_file():
        raise MissingError(f"{source} does not exist: it is compiled from a checkout of this project")
    target = target_of(catalog.table(build)[mpi], build)
    made = build / "taskbench" / f"{source.stem}-{mpi}"
    command: list[str | Path] = [target.compiler, "-std=c++20", "-O3", "-Wall", "-fopenmp", *SKIP_CXX]
    command += [f"-I{CHECKOUT / 'clients/tasklet'}", source, "-o", made]
    kernels = CHECKOUT / "clients/tasklet/examples/kernels.hpp"
    return made_by(made, command, [source, SOURCES / "cholesky.hpp", kernels], target.env)


def contenders(build: Path, mpi: str, layout: Layout, timeout: float) -> list[Contender]:
    """This layer's and those of an MPI. Raises MissingError, FailedError."""
    crowded = layout.cores > catalog.cores()
    launcher = catalog.find_program(catalog.table(build)["ompl"], catalog.LAUNCHER, build, None)
    own = build / "bin/tasklet_cholesky"
    if not own.is_file():
        raise MissingError(f"{own} is not built: cmake --build {build} --target tasklet_cholesky")
    line = [str(launcher), "--no-prefix", "--timeout", str(timeout), "-n", str(layout.ranks), str(own)]
    found = [Contender(MINE, layout, line, dict(os.environ))]
    for form in FORMS:
        made = program(build, form, mpi)
        launch = plan.bound(examples.launch(build, mpi, layout.ranks), layout, crowded)
        variables = plan.openmp(layout.threads, crowded)
        found.append(Contender(form, layout, launch.line(layout.ranks, made, []), launch.environment(variables)))
    return found


@dataclass(frozen=True)
class Size:
    """Of a matrix and its tiles."""

    rows: int
    tile: int

    @property
    def tiles(self) -> int:
        """In a row."""
        return self.rows // self.tile


@dataclass
class Solves(Entry[float]):
    """Seconds of the factorizations of one contender; the residual of each was checked."""

    contender: Contender = field(kw_only=True)
    size: Size = field(kw_only=True)


def seconds(contender: Contender, size: Size, timeout: float) -> float:
    """Of one factorization. Raises WorkerError, also for a residual that is too large."""
    arguments = [str(size.tiles), str(size.tile)]
    if contender.name == MINE:
        arguments.append(str(contender.layout.threads))
    said = runs.said(contender, arguments, timeout)
    if not (found := SECONDS.search(said)):
        raise WorkerError("corrupt", f"it prints no time: {said[-200:]}")
    return float(found[1])


def measure(found: list[Contender], size: Size, limits: Limits, progress: Progress, seed: int = 0) -> list[Solves]:
    """In rounds of shuffled order."""
    entries = [Solves(contender=one, size=size) for one in found]

    def block(entry: Solves, _index: int) -> float | None:
        try:
            return seconds(entry.contender, size, limits.timeout)
        except WorkerError as failure:
            entry.fail(failure.status, failure.reason)
            return None
        finally:
            progress.done()

    def where(entry: Solves, index: int) -> str:
        return f"{size.rows} rows, tiles of {size.tile}, round {index + 1}: {entry.contender.key}"

    Rounds(entries, block, limits, shuffled(seed), progress, where).run()
    return entries


def rows(entries: list[Solves]) -> list[dict[str, object]]:
    """Of a result file."""
    return [
        {"bench": "cholesky", "contender": one.contender.name, "ranks": one.contender.layout.ranks,
         "threads": one.contender.layout.threads, "rows": one.size.rows, "tile": one.size.tile, "seconds": one.rounds,
         "status": one.status, "reason": one.reason}
        for one in entries
    ]  # fmt: skip


def works(entry: Solves) -> bool:
    """Whether it has a time."""
    return entry.status == OK and bool(entry.rounds)

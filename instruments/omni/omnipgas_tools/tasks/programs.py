# SPDX-License-Identifier: BSD-3-Clause
"""The programs that run Task Bench, compiled from a checkout of its sources, which is not part of this project.
Standard library only.

python3 -m omnipgas_tools.tasks.programs SOURCE BUILD    compiles those over this layer into BUILD/taskbench
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools import CHECKOUT, files
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import SKIP_CXX, FailedError, is_old, output_of, target_of

VARIABLE = "OMPL_TASK_BENCH"
GET = "git clone https://github.com/StanfordLegion/task-bench"
CORE = ("core.cc", "core_c.cc", "core_kernel.cc", "timer.cc", "core_random.c", "siphash.c")  # in its folder core/
LAYER, MPI, LOCAL = "layer", "mpi", "local"  # what starts a program: omplrun, an MPI, nothing


@dataclass(frozen=True)
class Form:
    """A way to run Task Bench."""

    title: str
    source: str  # in SOURCE, or in this checkout if it is our own
    starts: str = LAYER
    own: bool = True
    threads: bool = True  # more than one in a rank
    openmp: bool = False


FORMS = {
    "tasklet": Form("tasks of this layer, dependences by tags", "clients/tasklet/taskbench/tasklets.cpp"),
    "ompl": Form("threads of this layer that put and signal", "clients/tasklet/taskbench/bare.cpp"),
    "mpi": Form("Task Bench's nonblocking MPI, a rank for each core", "mpi/nonblock.cc", MPI, False, False),
    "mpi-bulk": Form("the same with a barrier for each step", "mpi/bulk_synchronous.cc", MPI, False, False),
    "mpi-openmp": Form(
        "Task Bench's MPI+OpenMP, one thread communicates", "mpi_openmp/forall.cc", MPI, False, openmp=True
    ),
    "mpi-multiple": Form(
        "MPI+OpenMP with MPI_THREAD_MULTIPLE", "instruments/bench/tasks/multiple.cpp", MPI, openmp=True
    ),
    "openmp": Form("Task Bench's OpenMP tasks, one rank", "openmp/main.cc", LOCAL, False, openmp=True),
}  # fmt: skip


def checked_source(place: Path | None) -> Path:
    """Where Task Bench lies: the given place, or that of OMPL_TASK_BENCH. Raises MissingError."""
    chosen = place or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if chosen is None:
        raise MissingError(f"no source of Task Bench: {GET}, and give its folder by --task-bench or {VARIABLE}")
    if not (chosen / "core" / "core.h").is_file():
        raise MissingError(f"{chosen} is no source of Task Bench, it has no core/core.h: {GET}")
    return chosen.absolute()


@dataclass(frozen=True)
class Builder:
    """Compiles into BUILD/taskbench; what is there and up to date is kept. Its functions raise MissingError and
    FailedError."""

    source: Path
    build: Path

    @property
    def folder(self) -> Path:
        """Of everything that is made."""
        return self.build / "taskbench"

    def program(self, name: str, mpi: str = "") -> Path:
        """The program of a form, for an MPI where the form is one."""
        form = FORMS[name]
        source = (CHECKOUT if form.own else self.source) / form.source
        if not source.is_file():
            raise MissingError(f"{source} does not exist: omni tasks compiles from a checkout of this project")
        made = self.folder / (f"{name}-{mpi}" if mpi else name)
        flags = ["-std=c++20" if form.own else "-std=c++11", "-O3", *_vectors(), "-isystem", self._core_folder]
        flags += [f"-I{CHECKOUT / 'clients/tasklet'}", f"-I{CHECKOUT / 'include'}"]
        flags += ["-fopenmp" if form.openmp else "-pthread", "-Wall" if form.own else "-w"]
        after: list[str | Path] = [self.core()]
        if form.starts == LAYER:
            lib = self.build / "lib"
            after += [f"-L{lib}", "-lomnipgas-tasklet", "-lomnipgas", f"-Wl,-rpath,{lib}"]
        target = target_of(catalog.table(self.build)[mpi], self.build) if mpi else None
        compiler = target.compiler if target else os.environ.get("CXX", "c++")
        more = SKIP_CXX if mpi else []
        folders = ["taskbench", "examples"] if form.own else []
        headers = [one for folder in folders for one in sorted((CHECKOUT / "clients/tasklet" / folder).glob("*.hpp"))]
        command = [compiler, *flags, *more, source, "-o", made, *after]
        return made_by(made, command, [source, *headers], target.env if target else {})

    def core(self) -> Path:
        """Task Bench's own part of every program: the graphs, the kernels, the checks of each task's inputs."""
        objects = []
        for name in CORE:
            source = self._core_folder / name
            c = source.suffix == ".c"
            compiler = os.environ.get("CC", "cc") if c else os.environ.get("CXX", "c++")
            made = self.folder / "core" / f"{source.stem}.o"
            command = [
                compiler,
                "-std=c11" if c else "-std=c++11",
                "-O3",
                "-w",
                "-fPIC",
                *_vectors(),
                "-c",
                source,
                "-o",
                made,
            ]
            objects.append(made_by(made, command, [source, *self._core_folder.glob("*.h")]))
        library = self.folder / "libcore.a"
        return made_by(library, ["ar", "rcs", library, *objects], objects)

    @property
    def _core_folder(self) -> Path:
        return self.source / "core"


def made_by(
    made: Path, command: Sequence[str | Path], sources: Sequence[Path], env: dict[str, str] | None = None
) -> Path:
    """The file, by its command if it is old or another command made it. Raises FailedError."""
    note = made.with_name(made.name + ".command")
    line = shlex.join(map(str, command))
    if not is_old(made, sources) and note.is_file() and note.read_text() == line:
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    output_of(command, env or {})
    files.write(note, line)
    return made


def _vectors() -> list[str]:
    """As Task Bench's own makefiles do for the machine they run on."""
    try:
        known = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return []
    return ["-mavx2", "-mfma"] if "avx2" in known and "fma" in known else []


def main() -> int:
    """Compiles the programs over this layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    given = parser.parse_args()
    try:
        builder = Builder(checked_source(given.source), given.build.absolute())
        for name, form in FORMS.items():
            if form.starts == LAYER:
                print(builder.program(name))
    except (MissingError, FailedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

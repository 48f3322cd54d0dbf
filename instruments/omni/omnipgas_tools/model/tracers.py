# SPDX-License-Identifier: BSD-3-Clause
"""The interposers of the build, and which of them fits a program. Standard library only."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.compilers import FailedError, Target, targets
from omnipgas_tools.model.build_tracers import LIBRARY, Tracer, compile_installed, describe, name_of
from omnipgas_tools.model.program import ModelError

LDD_LIMIT = 30  # seconds
NARROW = re.compile(r"libmpi(ch)?\.so\.12")  # of MPICH and Intel MPI, whose handles have 32 bits
OWN = re.compile(r"libomnipgas\.so\.\d+")  # of programs of this layer


class NoTracerError(ModelError):
    """No interposer fits; the text says why and what to do."""


def available(build: Path) -> list[Tracer]:
    """The interposers there are; of an installation those that it has or can compile."""
    found = [_read(path) for path in sorted((build / "lib").glob("libompl-trace-*.json"))]
    found = [tracer for tracer in found if Path(tracer.path).is_file()]
    return found if catalog.sources(build) is None else found + _of_installation(build)[0]


def _read(path: Path) -> Tracer:
    tracer = Tracer(**json.loads(path.read_text()))
    return replace(tracer, path=str(path.parent / tracer.path))


def _of_installation(build: Path) -> tuple[list[Tracer], list[str]]:
    """What the MPI compilers here can make, and why others cannot."""
    found, failed = [], []
    for target in targets(build)[0]:
        path = installation.folder(build, target) / name_of(target.name)
        try:
            if not path.with_suffix(".json").is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                describe(target, path).write()
            found.append(_read(path.with_suffix(".json")))
        except FailedError as failure:
            failed.append(" ".join(str(failure).split()))
        except OSError as error:
            raise NoTracerError(f"{error.filename}: {error.strerror}; set XDG_CACHE_HOME to another folder") from error
    return found, failed


def loaded_library(program: str) -> tuple[str, Path] | None:
    """The MPI library that a program is linked with, else this layer's, by name and by place; None if with none."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=LDD_LIMIT, check=False)
    libraries = re.findall(r"(\S+) => (\S.*?)(?: \(0x|$)", done.stdout, re.M)
    for name, where in sorted(libraries, key=lambda one: OWN.fullmatch(one[0]) is not None):
        if LIBRARY.fullmatch(name) or OWN.fullmatch(name):
            if where == "not found":
                raise NoTracerError(f"{program} needs {name}, which is not found: set LD_LIBRARY_PATH")
            return name, Path(where)
    return None


def choose(build: Path, command: list[str], name: str | None = None) -> Tracer:
    """The interposer for a command line: that of the first program in it that is linked with an MPI. Where none is, as
    of Python and of scripts, those of the launcher's MPI: each process then uses that of the library which it loads.
    An installation compiles those that it has not yet."""
    chosen = fitting(build, command, name)
    if catalog.sources(build) is not None:
        for one in chosen:
            target = next(target for target in targets(build)[0] if target.name == one.name)
            _compile(build, target)
    return _joined(chosen)


def _compile(build: Path, target: Target) -> None:
    try:
        installation.ready(build, target, name_of(target.name), lambda place: compile_installed(target, build, place))
    except catalog.MissingError as missing:
        raise NoTracerError(str(missing)) from missing


def _joined(chosen: list[Tracer]) -> Tracer:
    """One that is several. Each hands on the calls of a process that has another MPI than its own; one with narrow
    handles would cut off others' handles, so those come last."""
    if len(chosen) == 1:
        return chosen[0]
    order = sorted(chosen, key=lambda one: NARROW.fullmatch(one.library) is not None)
    names, paths = (sep.join(words) for sep, words in
                    ((", ", [one.name for one in order]), (":", [one.path for one in order])))  # fmt: skip
    return Tracer(names, "", "", paths)


def fitting(build: Path, command: list[str], name: str | None) -> list[Tracer]:
    """As choose(), but one by one, and without compiling any."""
    tracers = available(build)
    if name is not None:
        if not (named := [tracer for tracer in tracers if tracer.name == name]):
            known = ", ".join(tracer.name for tracer in tracers) or "none"
            raise NoTracerError(f"no interposer for {name}; there are {known}")
        return named
    if not tracers:
        raise NoTracerError(f"there is no interposer: {_remedy(build)}")
    for word in command:
        program = shutil.which(word)
        if program is None or (found := loaded_library(program)) is None:
            continue
        library, path = found
        if not (alike := [tracer for tracer in tracers if tracer.library == library]):
            raise NoTracerError(f"{word} uses {path}, for which there is no interposer: {_remedy(build)}")
        return [_nearest(alike, path)]
    return _of_launcher(tracers, command)


def _of_launcher(tracers: list[Tracer], command: list[str]) -> list[Tracer]:
    """Those of the launcher's MPI, one for each of its libraries, for a command of which no program is linked with an
    MPI. Not those of other MPIs: programs ask by weak references whether their MPI has a function, and would find
    these."""
    launcher = shutil.which(command[0])
    if launcher is None:
        raise NoTracerError(f"{command[0]}: no such program")
    if near := [tracer for tracer in tracers if _inside(Path(launcher), tracer.prefix)]:
        return near
    if absent := [word for word in command if word.startswith(("/", "./", "../")) and not Path(word).exists()]:
        raise NoTracerError(f"{absent[0]}: no such program")
    raise NoTracerError(
        f"no program of {' '.join(command)!r} is linked with an MPI or with this layer: name it with --mpi"
    )


def _remedy(build: Path) -> str:
    """How to come by the interposer that is missing."""
    if catalog.sources(build) is None:
        return "build it where that MPI is installed"
    failed = _of_installation(build)[1]
    mpis = [library for library in catalog.table(build).values() if library.is_mpi]
    variables = ", ".join(library.prefix["variable"] for library in mpis if library.prefix)
    how = f"put the mpicxx of your MPI on the PATH, or set one of {variables} to its folder"
    return "; ".join([how, *failed])


def _inside(path: Path, prefix: str) -> bool:
    return bool(prefix) and path.resolve().is_relative_to(Path(prefix).resolve())


def _nearest(tracers: list[Tracer], library: Path) -> Tracer:
    """Of several with one library's name that of the place where it lies; else that of its maker."""
    for tracer in tracers:
        if _inside(library, tracer.prefix):
            return tracer
    intel = b"Intel(R) MPI" in library.read_bytes()
    makers = [tracer for tracer in tracers if tracer.name.startswith("intel") == intel]
    systems = [tracer for tracer in makers if not tracer.prefix]
    return (systems or makers or tracers)[0]

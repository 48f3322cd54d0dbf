# SPDX-License-Identifier: BSD-3-Clause
"""The interposers of the build, and which of them fits a program. Standard library only."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

LIBRARY = re.compile(r"libmpi(?:ch|_abi)?\.so\.\d+")  # of MPICH, Intel MPI, Open MPI, and the standard's interface
LDD_LIMIT = 30  # seconds


class NoTracerError(Exception):
    """No interposer fits; the text says why and what to do."""


@dataclass(frozen=True)
class Tracer:
    """An interposer: the MPI that it was compiled for."""

    name: str  # row of peers.toml; -abi: its form with the standard's interface
    library: str  # what its programs load: libmpi.so.12
    prefix: str  # where that MPI is installed; empty: with the system
    path: str  # of the interposer

    def environment(self, out: Path) -> dict[str, str]:
        """The variables under which a launcher's ranks leave a trace in a folder that is there."""
        others = os.environ.get("LD_PRELOAD")
        preload = f"{self.path}:{others}" if others else self.path
        return {**os.environ, "LD_PRELOAD": preload, "OMPL_TRACE_DIR": str(out.absolute())}

    def write(self) -> None:
        """Leaves this beside the interposer."""
        Path(self.path).with_suffix(".json").write_text(json.dumps(asdict(self), indent=2) + "\n")


def place(build: Path, name: str) -> Path:
    """Where the interposer of that name is built."""
    return build / "lib" / f"libompl-trace-{name}.so"


def available(build: Path) -> list[Tracer]:
    """The interposers there are."""
    texts = [json.loads(path.read_text()) for path in sorted((build / "lib").glob("libompl-trace-*.json"))]
    return [tracer for text in texts if Path((tracer := Tracer(**text)).path).is_file()]


def loaded_mpi(program: str) -> tuple[str, Path] | None:
    """The MPI library that a program is linked with, by name and by place; None if it is linked with none."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=LDD_LIMIT, check=False)
    for name, where in re.findall(r"(\S+) => (\S.*?)(?: \(0x|$)", done.stdout, re.M):
        if LIBRARY.fullmatch(name):
            if where == "not found":
                raise NoTracerError(f"{program} needs {name}, which is not found: set LD_LIBRARY_PATH")
            return name, Path(where)
    return None


def choose(build: Path, command: list[str], name: str | None = None) -> Tracer:
    """The interposer for a command line: that of the first program in it that is linked with an MPI, else that of
    the launcher's own MPI."""
    tracers = available(build)
    if name is not None:
        if not (named := [tracer for tracer in tracers if tracer.name == name]):
            known = ", ".join(tracer.name for tracer in tracers) or "none"
            raise NoTracerError(f"no interposer for {name}; this build has {known}")
        return named[0]
    if not tracers:
        raise NoTracerError("this build has no interposer: build it where an MPI is installed")
    for word in command:
        program = shutil.which(word)
        if program is None or (mpi := loaded_mpi(program)) is None:
            continue
        library, path = mpi
        if not (fitting := [tracer for tracer in tracers if tracer.library == library]):
            raise NoTracerError(f"{word} uses {path}, for which this build has no interposer")
        return _nearest(fitting, path)
    launcher = shutil.which(command[0])
    if launcher is None:
        raise NoTracerError(f"{command[0]}: no such program")
    if near := [tracer for tracer in tracers if _inside(Path(launcher), tracer.prefix)]:
        return near[0]
    raise NoTracerError(f"no program of {' '.join(command)!r} is linked with an MPI: name it with --mpi")


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

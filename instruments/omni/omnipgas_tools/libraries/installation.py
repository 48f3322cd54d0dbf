# SPDX-License-Identifier: BSD-3-Clause
"""What an installation compiles for the user's MPI when it is first asked for: of a build folder the build does that.

It lies in the user's cache folder as in a build folder: one for each version, state of the installed sources and of the
MPI's compiler. All of it may be deleted at any time. Standard library only: the build uses it."""

import fcntl
import hashlib
import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from omnipgas_tools import __version__
from omnipgas_tools.libraries import build_workers, catalog
from omnipgas_tools.libraries.catalog import Found, Library, MissingError
from omnipgas_tools.libraries.compilers import COMPILE_LIMIT, Target, flags_of, target_of

LIBRARY = "libomnipgas.so.0"
SCARCE = {  # headers that a machine may lack, and Debian's packages of them
    "nlohmann/": "nlohmann-json3-dev", "CLI/": "libcli11-dev", "fmt/": "libfmt-dev", "mpi.h": "libmpich-dev",
}  # fmt: skip


def folder(build: Path, target: Target) -> Path:
    """Where what is made for an MPI lies: the build folder; of an installation a folder of the cache."""
    if (installed := catalog.sources(build)) is None:
        return build
    compiler = target.compiler.resolve()
    state = compiler.stat()
    text = f"{__version__} {_digest(installed)} {target} {compiler} {state.st_size} {state.st_mtime_ns}"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home).absolute() / "omnipgas" / hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _digest(installed: Path) -> str:
    content = hashlib.sha256()
    for path in sorted(path for path in installed.rglob("*") if path.is_file()):
        content.update(f"{path.relative_to(installed)} {path.stat().st_size} ".encode() + path.read_bytes())
    return content.hexdigest()


def ready(build: Path, target: Target, name: str, make: Callable[[Path], str]) -> Path:
    """The file of that name in folder(), made now by `make`, which is given the folder, if it is an installation's and
    not there. Raises MissingError."""
    place = folder(build, target)
    file = place / name
    if file.is_file() or place == build:
        return file
    log = place / "log"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place):
            if file.is_file():
                return file
            print(f"omni: compiling {file.name} for {target.name}, once ...", file=sys.stderr, flush=True)
            log.write_text(said := make(place))
    except OSError as error:
        where = error.filename or place
        raise MissingError(f"{where}: {error.strerror}; set XDG_CACHE_HOME to another folder") from error
    if not file.is_file():
        raise MissingError(f"{file.name} could not be compiled for {target.name}: {_first_error(said)} (all: {log})")
    return file


def _first_error(said: str) -> str:
    """The line of a compiler's complaint that says what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    line = next((line for line in lines if "error" in line or "not found" in line), lines[0] if lines else "")
    package = next((name for header, name in SCARCE.items() if header in line and "No such file" in line), None)
    return f"{line}; on Debian: apt-get install {package}" if package else line


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One process at a time."""
    end = time.monotonic() + COMPILE_LIMIT
    with (place / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise MissingError(f"another omni has compiled in {place} for {COMPILE_LIMIT} s: end it") from error
                time.sleep(0.1)
        yield


def layer(build: Path) -> Path:
    """The library of an installation."""
    folders = [build.parents[1] / "lib" / (sysconfig.get_config_var("MULTIARCH") or ""), build.parents[1] / "lib64"]
    places = [folder / LIBRARY for folder in (build.parents[1] / "lib", *folders)]
    if found := next((place for place in places if place.exists()), None):
        return found
    raise MissingError(f"{LIBRARY} is in none of {', '.join(str(place.parent) for place in places)}: install it")


def find(library: Library, build: Path, kind: str = "bench") -> Found:
    """catalog.find(), with the worker compiled if this is an installation and it is not there."""
    installed = catalog.sources(build)
    if installed is None or not library.compiler:
        return catalog.find(library, build, kind)
    bench, target = installed / "bench", target_of(library, build)
    flags_of(library, target.prefix)  # or what is missing
    source = bench / ("adapters" if kind == "bench" else kind) / "mpi.cpp"  # others lie beside it
    arguments = ["-std=c++20", "-O2", "-pthread", "-DFMT_HEADER_ONLY"]
    arguments += [f"-I{place}" for place in (bench, installed, installed / "include")]
    arguments += map(str, sorted(bench.glob("harness/*.cpp")))
    if kind == "overlap":
        arguments.append("-fopenmp")
    if kind == "halo" or library.adapter == "ompl":
        own = layer(build)
        arguments += [str(own), f"-Wl,-rpath,{own.parent}"]
    worker = ready(
        build, target, f"bin/{catalog.worker_of(library, kind)}",
        lambda place: build_workers.compile_worker(library, build_workers.Recipe(place, kind, source, [], arguments)),
    )  # fmt: skip
    return catalog.find(library, build, kind, worker.parents[1])

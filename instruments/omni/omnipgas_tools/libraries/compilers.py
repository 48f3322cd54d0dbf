# SPDX-License-Identifier: BSD-3-Clause
"""The MPI compilers that are installed here. Standard library only: the build runs it."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import catalog

COMPILE_LIMIT = 600  # seconds
SKIP_CXX = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]  # MPI-2's C++ bindings, which need a library of their own


class FailedError(Exception):
    """A compiler's complaint."""


@dataclass(frozen=True)
class Target:
    """An MPI, or its form with the standard's binary interface."""

    name: str
    compiler: Path
    prefix: Path | None
    env: dict[str, str]

    def run(self, *arguments: str | Path) -> str:
        """What the compiler prints."""
        return output_of([self.compiler, *arguments, *SKIP_CXX], self.env)


def output_of(command: Sequence[str | Path], env: dict[str, str]) -> str:
    """What a compiler or pkg-config prints, with these variables; raises FailedError."""
    try:
        done = subprocess.run(
            command, env={**os.environ, **env}, text=True, capture_output=True, timeout=COMPILE_LIMIT, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise FailedError(f"{command[0]} was not done after {COMPILE_LIMIT} s") from late
    except OSError as error:
        raise FailedError(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise FailedError(f"{command[0]} failed:\n{done.stderr}")
    return done.stdout


def target_of(library: catalog.Library, build: Path) -> Target:
    """The compiler of one library; catalog.MissingError if it is not here."""
    prefix = catalog.find_prefix(library, build)
    compiler = catalog.find_program(library, library.compiler, build, prefix)
    # Some wrappers do not know their own place.
    env = {s.env: s.value.format(prefix=prefix) for s in library.settings if "{prefix}" in s.value}
    return Target(library.name, compiler, prefix, env)


def flags_of(library: catalog.Library, prefix: Path | None) -> list[str]:
    """How to compile and link against a library: its row's flags, and what pkg-config says of its packages, first of
    those under the prefix; catalog.MissingError if they are not here."""
    flags = [flag.format(prefix=prefix) for flag in library.flags]
    if not library.packages:
        return flags
    env = {}
    if prefix:
        places = [str(prefix / folder / "pkgconfig") for folder in ("lib", "lib64", "share")]
        env["PKG_CONFIG_PATH"] = ":".join([*places, os.environ.get("PKG_CONFIG_PATH", "")])
        flags += [f"-Wl,-rpath,{prefix / folder}" for folder in ("lib", "lib64")]
    try:
        return flags + shlex.split(output_of(["pkg-config", "--cflags", "--libs", *library.packages], env))
    except FailedError as failure:
        raise catalog.MissingError(f"pkg-config finds no {' or '.join(library.packages)}: {library.get}") from failure


def targets(build: Path) -> tuple[list[Target], list[str]]:
    """The MPIs here, and lines about those that are not."""
    found, skipped = [], []
    for name, library in catalog.table(build).items():
        if not library.is_mpi:
            continue
        try:
            target = target_of(library, build)
        except catalog.MissingError as missing:
            skipped.append(f"{name}: skipped, {missing}")
            continue
        found.append(target)
        standard = target.compiler.with_name(target.compiler.name + "_abi")
        if standard.is_file():
            found.append(Target(f"{name}-abi", standard, target.prefix, target.env))
    return found, skipped


def compile_for_each(what: str, build: Path, make: Callable[[Target], str]) -> None:
    """`make` for each MPI here, two at a time; prints its lines, and why others are not here, which is no error."""
    found, skipped = targets(build)
    for line in skipped:
        print(f"{what} {line}")
    with ThreadPoolExecutor(2) as pool:
        for target, line in zip(found, pool.map(make, found), strict=True):
            print(f"{what} {target.name}: {line}")


def arguments_of_build(doc: str | None, **more: Any) -> tuple[argparse.Namespace, list[str]]:
    """The build's command line: BUILD and the options of `more`, and what follows --, for the compiler."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("build", type=Path)
    for name, about in more.items():
        parser.add_argument(f"--{name}", required=True, **about)
    return parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]


def is_old(made: Path, sources: Iterable[Path]) -> bool:
    """Whether a file is missing, or older than anything it is made from."""
    return not made.exists() or any(source.stat().st_mtime > made.stat().st_mtime for source in sources)

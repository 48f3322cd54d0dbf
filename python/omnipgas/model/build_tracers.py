# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the interposer once per MPI found. Run by the build; standard library only.

python3 -m omnipgas.model.build_tracers BUILD --folder TRACE --archive WRITER --depends FILE... -- COMPILER ARGUMENTS...
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from omnipgas import peers
from omnipgas.model.tracers import LIBRARY, Tracer, place

COMPILE_LIMIT = 600  # seconds
SKIP_CXX = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


class FailedError(Exception):
    """A compiler's complaint."""


@dataclass(frozen=True)
class Recipe:
    """What every interposer is made from."""

    build: Path
    folder: Path  # trace/ of the sources
    archive: Path  # what does not depend on the MPI
    depends: list[Path]
    arguments: list[str]  # for the compiler

    def newer_than(self, library: Path, compiler: Path) -> bool:
        """Whether an interposer is missing, or older than anything it is made from."""
        if not library.exists() or not library.with_suffix(".json").exists():
            return True
        made = library.stat().st_mtime
        return any(path.stat().st_mtime > made for path in (compiler, self.archive, *self.depends))


@dataclass(frozen=True)
class Target:
    """An MPI, or its form with the standard's binary interface."""

    name: str
    compiler: Path
    prefix: Path | None
    env: dict[str, str]

    def run(self, *arguments: str | Path) -> str:
        """What the compiler prints."""
        env = {**os.environ, **self.env}
        limit = COMPILE_LIMIT
        done = subprocess.run(
            [self.compiler, *arguments], env=env, text=True, capture_output=True, timeout=limit, check=False
        )
        if done.returncode != 0:
            raise FailedError(f"{self.compiler} failed:\n{done.stderr}")
        return done.stdout


def targets(build: Path) -> tuple[list[Target], list[str]]:
    """The MPIs here, and lines about those that are not."""
    found, skipped = [], []
    for name, peer in peers.table(build).items():
        if not peer.compiler:
            continue
        try:
            prefix = peers.find_prefix(peer, build)
            compiler = peers.find_program(peer, peer.compiler, build, prefix)
        except peers.MissingError as missing:
            skipped.append(f"{name}: skipped, {missing}")
            continue
        # Some wrappers do not know their own place.
        env = {s.env: s.value.format(prefix=prefix) for s in peer.settings if "{prefix}" in s.value}
        found.append(Target(name, compiler, prefix, env))
        standard = compiler.with_name(compiler.name + "_abi")
        if standard.is_file():
            found.append(Target(f"{name}-abi", standard, prefix, env))
    return found, skipped


def library_of(target: Target, scratch: Path) -> str:
    """The MPI library that this compiler links programs with."""
    empty, probe = scratch / "empty.cpp", scratch / "probe.so"
    empty.write_text("")
    target.run("-shared", "-fPIC", "-Wl,--no-as-needed", empty, "-o", probe)
    found = LIBRARY.search(subprocess.run(["readelf", "-d", probe], check=True, capture_output=True, text=True).stdout)
    if not found:
        raise FailedError(f"{target.compiler} links no MPI library that is known")
    return found[0]


def compile_tracer(target: Target, recipe: Recipe) -> str:
    """Brings one interposer up to date; returns a line that says what was done."""
    library = place(recipe.build, target.name)
    if not recipe.newer_than(library, target.compiler):
        return "up to date"
    scratch = recipe.build / "trace" / target.name
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        tracer = Tracer(target.name, library_of(target, scratch), str(target.prefix or ""), str(library))
        include, wrappers, partial = scratch / "include.cpp", scratch / "wrappers.cpp", library.with_suffix(".new")
        include.write_text("#include <mpi.h>\n")
        header = target.run("-E", "-P", *SKIP_CXX, include)
        generate = [
            sys.executable,
            *(str(recipe.folder / name) for name in ("generate.py", "calls.table", "kinds.def")),
        ]
        text = subprocess.run(generate, input=header, check=True, capture_output=True, text=True)
        wrappers.write_text(text.stdout)
        sources = [wrappers, *sorted((recipe.folder / "mpi").glob("*.cpp")), recipe.archive]
        define = f'-DOMPL_TRACE_LIBRARY="{tracer.library}"'
        target.run(*recipe.arguments, f"-I{recipe.folder}", define, *sources, "-Wl,--as-needed", "-o", partial)
    except (FailedError, subprocess.CalledProcessError) as failure:
        library.unlink(missing_ok=True)
        return f"skipped, {getattr(failure, 'stderr', None) or failure}"
    partial.replace(library)
    tracer.write()
    return f"compiled with {target.compiler}"


def main() -> None:
    """Compiles what is missing or old; an MPI that cannot be used is no error."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--depends", type=Path, nargs="+", required=True)
    options = parser.parse_args(sys.argv[1:split])
    recipe = Recipe(options.build, options.folder, options.archive, options.depends, sys.argv[split + 1 :])
    found, skipped = targets(recipe.build)
    for line in skipped:
        print(f"tracer {line}")
    with ThreadPoolExecutor(2) as pool:
        for target, line in zip(found, pool.map(lambda target: compile_tracer(target, recipe), found), strict=True):
            print(f"tracer {target.name}: {line}")


if __name__ == "__main__":
    main()

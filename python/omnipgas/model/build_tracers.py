# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the interposer once per MPI found. Run by the build; standard library only.

python3 -m omnipgas.model.build_tracers BUILD --folder TRACE --archive WRITER --depends FILE... -- COMPILER ARGUMENTS...
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from omnipgas.compilers import FailedError, Target, is_old, targets
from omnipgas.model.tracers import LIBRARY, Tracer, place

SKIP_CXX = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


@dataclass(frozen=True)
class Recipe:
    """What every interposer is made from."""

    build: Path
    folder: Path  # trace/ of the sources
    archive: Path  # what does not depend on the MPI
    depends: list[Path]
    arguments: list[str]  # for the compiler


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
    described = library.with_suffix(".json").exists()
    if described and not is_old(library, [target.compiler, recipe.archive, *recipe.depends]):
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

# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the interposer of collectives once per MPI found. Run by the build; standard library only.

python3 -m omnipgas_tools.collectives.build_interposers BUILD --folder SOURCES --layer LIBRARY -- COMPILER ARGUMENTS...
"""

from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools.libraries.compilers import FailedError, Target, arguments_of_build, compile_for_each, is_old

FLAGS = ["-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-pthread", "-fvisibility-inlines-hidden", "-Wl,-Bsymbolic"]


def name_of(mpi: str) -> str:
    """Where the interposer of an MPI lies in a build folder."""
    return f"lib/libompl-coll-{mpi}.so"


@dataclass(frozen=True)
class Recipe:
    """What every interposer is made from."""

    build: Path
    folder: Path  # clients/mpi_collectives/ of the sources
    layer: Path  # libomnipgas.so
    arguments: list[str]  # for the compiler, beside FLAGS


def compile_interposer(target: Target, recipe: Recipe) -> str:
    """Brings one up to date; returns a line that says what was done."""
    library = recipe.build / name_of(target.name)
    sources = sorted(recipe.folder.glob("*.?pp"))
    if not is_old(library, [target.compiler, *sources]):
        return "up to date"
    partial = library.with_suffix(".new")
    parts = [path for path in sources if path.suffix == ".cpp"]
    layer: list[str | Path] = [recipe.layer, f"-Wl,-rpath,{recipe.layer.parent}"]
    try:
        target.run(*FLAGS, *recipe.arguments, *parts, *layer, "-o", partial)
    except FailedError as failure:
        library.unlink(missing_ok=True)
        return f"skipped, {failure}"
    partial.replace(library)
    return f"compiled with {target.compiler}"


def main() -> None:
    """Compiles what is missing or old; an MPI that cannot be used is no error."""
    options, arguments = arguments_of_build(__doc__, folder={"type": Path}, layer={"type": Path})
    recipe = Recipe(options.build, options.folder, options.layer, arguments)
    compile_for_each("interposer of collectives", recipe.build, lambda target: compile_interposer(target, recipe))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the MPI programs of examples/mpi once per MPI found. Run by the build; standard library only.

python3 -m omnipgas_tools.model.build_examples BUILD --folder EXAMPLES -- COMPILER ARGUMENTS...
"""

from dataclasses import replace
from pathlib import Path

from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.compilers import FailedError, Target, arguments_of_build, is_old, target_of, targets
from omnipgas_tools.model.examples import program

FLAGS = ["-O3"]


def compile_examples(target: Target, build: Path, folder: Path, arguments: list[str]) -> str:
    """Brings the programs of one MPI up to date; returns a line that says what was done."""
    compilers = {".cpp": target, ".c": replace(target, compiler=c_compiler(target.compiler))}
    done = 0
    for source in sorted(path for path in folder.iterdir() if path.suffix in compilers):
        made, compiler = program(build, target.name, source.stem), compilers[source.suffix]
        if not is_old(made, [source, compiler.compiler, *folder.glob("*.h")]):
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        partial = made.with_suffix(".new")
        try:
            compiler.run(*FLAGS, *arguments, source, "-o", partial, "-lm")
        except FailedError as failure:
            made.unlink(missing_ok=True)
            return f"skipped, {failure}"
        partial.replace(made)
        done += 1
    return f"{done} compiled" if done else "up to date"


def ready(build: Path, mpi: str, name: str) -> Path:
    """A program; an installation compiles it if it has not yet. Raises catalog.MissingError."""
    target, installed = target_of(catalog.table(build)[mpi], build), catalog.sources(build)
    return installation.ready(
        build, target, str(program(Path(), mpi, name)),
        lambda place: compile_examples(target, place, (installed or build) / "examples/mpi", []),
    )  # fmt: skip


def c_compiler(of_cpp: Path) -> Path:
    """The wrapper for C beside that for C++."""
    return of_cpp.with_name(of_cpp.name.replace("mpicxx", "mpicc"))


def main() -> None:
    """Compiles what is missing or old; an MPI that cannot be used is no error."""
    options, arguments = arguments_of_build(__doc__, folder={"type": Path})
    found, skipped = targets(options.build)
    for line in skipped:
        print(f"examples for {line}")
    for target in found:
        if not target.name.endswith("-abi"):
            line = compile_examples(target, options.build, options.folder, arguments)
            print(f"examples for {target.name}: {line}")


if __name__ == "__main__":
    main()

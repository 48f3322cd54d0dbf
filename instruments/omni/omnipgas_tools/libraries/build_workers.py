# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a kind of worker once per library found. Run by the build; standard library only.

python3 -m omnipgas_tools.libraries.build_workers BUILD --kind bench --source mpi.cpp --depends FILE...
  -- COMPILER ARGUMENTS...
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools import files
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.compilers import FailedError, arguments_of_build, flags_of, is_old, target_of


@dataclass(frozen=True)
class Recipe:
    """What every library's worker is made from."""

    build: Path
    kind: str
    source: Path  # of an MPI; those of other adapters lie beside it
    depends: list[Path]
    arguments: list[str]  # for the compiler

    def source_of(self, library: catalog.Library) -> Path:
        """What the library's worker is made from; not there: there is none of this kind."""
        return self.source.with_name(f"{library.adapter}.cpp") if self.kind in catalog.OF_ALL else self.source

    def fortran_of(self, library: catalog.Library) -> list[Path]:
        """A part of it in Fortran, if there is one, with the same name beside it."""
        part = self.source_of(library).with_suffix(".f90")
        return [part] if part.is_file() and part != self.source_of(library) else []


def compile_worker(library: catalog.Library, recipe: Recipe) -> str:
    """Brings one worker up to date; returns a line that says what was done."""
    program = recipe.build / "bin" / catalog.worker_of(library, recipe.kind)
    try:
        target = target_of(library, recipe.build)
        flags = flags_of(library, target.prefix)
        source = recipe.source_of(library)
        if fortran := recipe.fortran_of(library):
            flags = [*map(str, fortran), f"-J{recipe.build / 'bench'}", *flags]  # there its modules go
        command = shlex.join(map(str, [target.compiler, source, *recipe.arguments, *flags]))
        note = recipe.build / "bench" / f"{program.name}.command"  # another place of the library is another command
        note.parent.mkdir(exist_ok=True)
        same = note.is_file() and note.read_text() == command
        if same and not is_old(program, [source, *fortran, target.compiler, *recipe.depends]):
            return "up to date"
        partial = program.with_suffix(".new")
        target.run(source, "-o", partial, *recipe.arguments, *flags)
    except (catalog.MissingError, FailedError) as failure:
        program.unlink(missing_ok=True)
        return f"skipped, {failure}"
    partial.replace(program)
    files.write(note, command)
    return f"compiled with {target.compiler}"


def main() -> None:
    """Compiles what is missing or old; a library that cannot be used is no error."""
    path = {"type": Path}
    options, arguments = arguments_of_build(__doc__, kind={}, source=path, depends=path | {"nargs": "+"})
    recipe = Recipe(options.build, options.kind, options.source, options.depends, arguments)
    table = catalog.table(options.build)
    for name, library in table.items():
        shared = library.like and table[library.like].worker == library.worker
        of_all = library.compiler and options.kind in catalog.OF_ALL and not shared
        wanted = library.has_coarrays if options.kind == catalog.COARRAY else library.is_mpi or of_all
        if wanted and recipe.source_of(library).is_file():
            print(f"{options.kind} worker {name}: {compile_worker(library, recipe)}")


if __name__ == "__main__":
    main()

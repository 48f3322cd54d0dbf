#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate_shmem.py OUTPUT_DIR: writes include/shmem.h, include/pshmem.h, a source file of each chapter, and the test
that calls every function (test/), from the table in shmem_generator/. With --list: prints the names of the functions.
"""

import sys
from pathlib import Path

from shmem_generator import collectives, every, header, inline, library, rma, source, waits
from shmem_generator.table import Table


def table() -> Table:
    """All functions."""
    whole = Table()
    for part in (library, rma, waits, collectives):
        part.declare(whole)
    return whole


def write(path: Path, text: str) -> None:
    """Leaves a file alone that has this text already, so that nothing is compiled anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        whole = path.with_suffix(path.suffix + ".part")
        whole.write_text(text)
        whole.replace(path)


def main(arguments: list[str]) -> None:
    """Does what the command line says."""
    whole = table()
    if arguments == ["--list"]:
        print("\n".join(function.name for function in whole.functions))
        return
    output = Path(arguments[0])
    write(output / "include/shmem.h", header.header(whole))
    write(output / "include/pshmem.h", header.profiling_header(whole))
    for chapter in source.chapters(whole):
        write(output / source.file_name(chapter), source.source(whole, chapter))
    write(output / "inlined.cpp", inline.source())
    library = Path(__file__).with_name("tests") / "library.c"
    for name, text in every.tests(whole, library).items():
        write(output / "test" / name, text)


if __name__ == "__main__":
    main(sys.argv[1:])

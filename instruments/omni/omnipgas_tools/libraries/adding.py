# SPDX-License-Identifier: BSD-3-Clause
"""Adds a library of the user's own: compiles its adapter, starts it once, and remembers the place."""

import json
import re
from pathlib import Path

from omnipgas_tools import files
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Library, MissingError
from omnipgas_tools.libraries.compilers import FailedError, output_of
from omnipgas_tools.libraries.state import State, state_of

TARGETS = [f"{kind}_mpi_workers" for kind in catalog.OF_ALL]  # of the build: the workers of all libraries


def add(build: Path, library: Library, prefix: Path) -> State:
    """Raises MissingError, or OSError of added_file(); what was remembered before is kept then."""
    before = catalog.added()
    remember(before | {library.name: str(prefix)})
    try:
        compile_for(build, library)
        state = state_of(library, build, run=True)
        if not state.version:
            raise MissingError(state.remark)
    except BaseException:  # Ctrl-C too
        remember(before)
        raise
    return state


def compile_for(build: Path, library: Library) -> None:
    """Brings the worker up to date; raises MissingError with the compiler's complaint. Of an installation that is done
    when it is looked for."""
    if catalog.sources(build) is not None:
        return
    try:
        said = output_of(["cmake", "--build", str(build), "--target", *TARGETS], {})
    except FailedError as failure:
        raise MissingError(str(failure)) from failure
    if reason := re.search(
        rf"^bench worker {re.escape(library.name)}: skipped, (.*?)(?=^\w+ worker |\Z)", said, re.M | re.S
    ):
        raise MissingError(reason[1].strip())


def remember(prefixes: dict[str, str]) -> None:
    """Writes the note of added libraries; raises OSError."""
    file = catalog.added_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write(file, json.dumps(prefixes, indent=1) + "\n")

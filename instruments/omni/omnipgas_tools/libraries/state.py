# SPDX-License-Identifier: BSD-3-Clause
"""Which libraries can be measured here, where they are, and how to get the others; and adding one of the user's own."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools import files
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found, Library, MissingError
from omnipgas_tools.libraries.compilers import FailedError, output_of
from omnipgas_tools.measure.worker import Worker, WorkerError

TARGETS = [f"{kind}_mpi_workers" for kind in catalog.OF_ALL]  # of the build: the workers of all libraries
PROBE = 64  # bytes


@dataclass(frozen=True)
class State:
    """What is known of a library here."""

    library: Library
    place: str  # where it is; empty: not here
    version: str
    transport: str
    remark: str  # why not, and how to get it; or what to know of its figures


def state_of(library: Library, build: Path, run: bool) -> State:
    """Looks for a library and, if asked to, starts it once."""
    try:
        found = installation.find(library, build)
    except MissingError as missing:
        return State(library, "", "", "", str(missing))
    version, transport, remark = "", "", "; ".join(library.caveats)
    if run:
        try:
            with Worker(found, threads=1, size=PROBE) as worker:
                version, transport = worker.hello[0]["version"], worker.hello[0]["transport"]
        except WorkerError as failure:
            remark = f"{failure.status}: {failure.reason}"
    return State(library, place_of(found), version, transport, remark)


def place_of(found: Found) -> str:
    """Where a library is: its folder, else its launcher, else the worker that holds it."""
    return str(found.prefix or found.launcher or found.worker)


def add_library(build: Path, library: Library, prefix: Path) -> State:
    """Compiles its adapter, starts it once, and remembers the place. Raises MissingError, or OSError of added_file();
    what was remembered before is kept then."""
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

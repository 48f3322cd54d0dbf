# SPDX-License-Identifier: BSD-3-Clause
"""Which libraries can be measured here, where they are, and how to get the others."""

from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools.libraries import installation
from omnipgas_tools.libraries.catalog import Found, Library, MissingError
from omnipgas_tools.measure.worker import Worker, WorkerError

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

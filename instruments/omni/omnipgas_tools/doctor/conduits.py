# SPDX-License-Identifier: BSD-3-Clause
"""Two ranks that play ping-pong over each conduit, within limits: whether it works here, and how fast it seems."""

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from omnipgas_tools.doctor.findings import Finding
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found, MissingError
from omnipgas_tools.measure import network
from omnipgas_tools.measure.worker import Worker, WorkerError

AREA = "ping-pong"
SIZE = 8  # bytes
BLOCKS, ITERATIONS, SECONDS = 5, 2000, 0.1  # of each block
LIMIT = 30.0  # seconds of one
UNREACHED = "some ranks cannot be reached"  # what ompl_init says where no conduit can be used


@dataclass(frozen=True)
class Way:
    """A conduit in processes of a library of the table; above `slow_us` microseconds one way something is wrong."""

    conduit: str
    slow_us: float
    usual: bool = False  # it is used without being asked for
    library: str = "ompl"

    @property
    def name(self) -> str:
        """In the table of findings."""
        return self.conduit + ("" if self.library == "ompl" else f" of {self.library}")


def ways(build: Path) -> Iterator[Way]:
    """The conduits that there are, that of MPI with each MPI of the table."""
    yield Way("shm", 20.0, usual=True)
    yield Way("tcp", 300.0, usual=True)
    for conduit in ("ofi", "verbs", "utofu", "psm2", "ucx"):
        yield Way(conduit, 300.0)
    for name, library in catalog.table(build).items():
        if library.adapter == "ompl" and library.compiler:
            yield Way("mpi", 1000.0, library=name)


def look(build: Path) -> Iterator[Finding]:
    """What comes of each."""
    for way in ways(build):
        try:
            found = installation.find(catalog.table(build)[way.library], build)
        except MissingError as missing:
            yield absent(way, str(missing))
            continue
        yield play(way, found)


def play(way: Way, found: Found) -> Finding:
    """Plays, and judges."""
    over = network.told(found.library, {"OMPL_CONDUITS": f"self,{way.conduit}"}, "omni doctor")
    try:
        with Worker(replace(found, library=over, transport=way.conduit), threads=1, size=SIZE) as worker:
            blocks = [worker.pingpong("put", SIZE, ITERATIONS, SECONDS, LIMIT).slowest_us for _ in range(BLOCKS)]
    except (WorkerError, OSError) as failure:
        return failed(way, " ".join(str(failure).split()))
    return judged(way, statistics.median(blocks))


def judged(way: Way, microseconds: float) -> Finding:
    """Of the median latency."""
    text = f"{SIZE} B + flag in {microseconds:.3g} us one way"
    if microseconds <= way.slow_us:
        return Finding(AREA, way.name, "fine", text)
    means = f"more than {way.slow_us:g} us: the two ranks do not run at the same time, or share a core"
    return Finding(AREA, way.name, "slow", text, means, "look at the rows about processors and the busy machine")


def failed(way: Way, text: str) -> Finding:
    """A conduit that nothing uses unasked, and that finds no library, device or MPI here, is no failure."""
    refused = re.search(rf"{UNREACHED}.*?\b{way.conduit}: (.*?);", text)
    if refused and not way.usual:
        return absent(way, refused[1])
    means = f"jobs over the conduit {way.conduit} fail in the same way"
    return Finding(AREA, way.name, "fails", text, means, "do what the text says; ompl-info --check has more of it")


def absent(way: Way, why: str) -> Finding:
    """A conduit that was not tried, or is of no use on this machine."""
    if not way.usual:
        return Finding(AREA, way.name, "fine", f"not here: {why}")
    return Finding(AREA, way.name, "note", why, "it was not tried", "build the project")

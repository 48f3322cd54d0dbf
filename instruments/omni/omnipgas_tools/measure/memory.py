# SPDX-License-Identifier: BSD-3-Clause
"""What one more rank costs: the memory and descriptors of a rank in jobs of different size, in which every thread of
every rank has put into every other rank (bench/connected)."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found, Library, MissingError
from omnipgas_tools.measure import process, results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.worker import Worker, WorkerError

KIND = "connected"
# That have a program there.
ADAPTERS = ("ompl", "mpi", "shmem", "ucx", "libfabric", "utofu", "verbs", "gaspi", "gasnet", "lci", "armci")
SIZE = 4096  # bytes of a message there
LIMIT = 60.0  # seconds until every rank has talked with every other one


@dataclass(frozen=True)
class Job:
    """What a rank of a job has, the mean over its ranks."""

    memory: float  # bytes that are no file's
    descriptors: float
    version: str
    transport: str


@dataclass(frozen=True)
class PeerCost:
    """What one more rank costs each rank."""

    memory: float  # KiB
    descriptors: float


def can_tell(library: Library) -> bool:
    """Whether there is a program that finds this out of a library."""
    return library.name == "ompl" or (bool(library.compiler) and library.adapter in ADAPTERS and "put" in library.ops)


def find(library: Library, build: Path) -> Found:
    """The library with that program; raises MissingError."""
    if not can_tell(library):
        raise MissingError(f"bench/{KIND} has no program for it")
    return installation.find(library, build, KIND)


def alike(found: Found, threads: int, ranks: Sequence[int]) -> list[Found]:
    """Jobs of so many ranks that differ in nothing else: with the launcher and the settings of the largest."""
    largest = catalog.with_ranks(found, max(ranks), catalog.build_dir())
    settings = [replace(one, when="always") for one in largest.applying(threads)]
    return [replace(largest, library=replace(largest.library, settings=settings), ranks=count) for count in ranks]


def measure(found: Found, threads: int, repeat: int = 1, limit: float = LIMIT) -> Job:
    """The median over so many jobs; raises WorkerError."""
    jobs = [_one(found, threads, limit) for _ in range(repeat)]
    memory, descriptors = (statistics.median(getattr(job, name) for job in jobs) for name in ("memory", "descriptors"))
    return replace(jobs[0], memory=memory, descriptors=descriptors)


def _one(found: Found, threads: int, limit: float) -> Job:
    with Worker(found, threads, SIZE) as worker:
        worker.talk(limit)
        pids = [int(hello["pid"]) for hello in worker.hello.values()]
        return Job(
            statistics.mean(map(process.own_memory, pids)),
            statistics.mean(map(process.descriptors, pids)),
            worker.hello[0]["version"],
            worker.hello[0]["transport"],
        )


def between(few: Job, many: Job, more: int) -> PeerCost:
    """What each of the `more` ranks that the second job has beyond the first costs."""
    return PeerCost((many.memory - few.memory) / more / 1024, (many.descriptors - few.descriptors) / more)


def rows(found: Found, op: str, threads: int, ranks: Sequence[int], repeat: int, limit: float) -> list[Result]:
    """A result for each number of ranks; each but the first says what the ranks beyond the first one's cost. A job that
    fails ends the row."""
    made: list[Result] = []
    first: Job | None = None
    for job_of in alike(found, threads, sorted(ranks)):
        count = job_of.ranks
        row = results.empty("memory", found.name, op, threads, SIZE) | {"ranks": count, "endpoints": found.endpoints}
        made.append(row)
        try:
            job = measure(job_of, threads, repeat, limit)
        except WorkerError as failure:
            row |= {"status": failure.status, "reason": failure.reason}
            break
        row |= {"version": job.version, "transport": job.transport, "memory_MiB": job.memory / 2**20}
        if first is None:
            first = job
        else:
            cost = between(first, job, count - min(ranks))
            row |= {"memory_per_peer_KiB": cost.memory, "descriptors_per_peer": cost.descriptors}
    return made

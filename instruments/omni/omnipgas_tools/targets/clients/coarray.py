# SPDX-License-Identifier: BSD-3-Clause
"""Targets of coarrays: statements of two images in memory, beside OpenCoarrays over the better of its two MPIs."""

import json
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Found, MissingError
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.rounds import OK, Entry, Limits, Rounds
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, output
from omnipgas_tools.targets.target import Target, at_most

MINE = "caf-ompl"
RIVALS = ("caf-opencoarrays", "caf-opencoarrays-mpich")
ROUNDS = stats.PAIRS_FOR_A_CLAIM + 1
TIMEOUT = 60.0  # seconds of a job, until it counts as hung
SMALL, LARGE = (8, 512, 4096), (65536, 4194304)  # bytes; only contiguous data have the smallest and the largest
SHORT, NOT_BEHIND = 0.5, 1.0  # bounds
SIZED = ("put", "get", "strided put", "strided get", "put and event", "co_sum")
PARTS = ("transfers", "collectives", "events")  # of the program, each a job of its own: a library may fail in one
ALLOCATIONS = 10_000


class Statement(NamedTuple):
    """A kind of statement and its bytes, as bench/coarray/calls.f90 names them."""

    what: str
    size: int


Times = dict[Statement, float]  # ns


def declared() -> list[tuple[Target, Statement]]:
    """What is compared with the rivals."""
    of = "of the better OpenCoarrays"
    found = []
    for what in SIZED:
        for size in (*SMALL, *LARGE):
            if size not in (SMALL[0], LARGE[-1]) or not what.startswith("strided"):
                bound = SHORT if size in SMALL else NOT_BEHIND
                found.append((at_most(f"coarrays: {what} of {size} B, shm, {of}", bound), Statement(what, size)))
    for what in ("event", "sync all"):
        found.append((at_most(f"coarrays: {what}, shm, {of}", SHORT), Statement(what, 0)))
    found.append((at_most(f"coarrays: 2-D halo exchange, 256 x 256, shm, {of}", NOT_BEHIND), Statement("halo", 2048)))
    matrix = at_most(f"coarrays: blocked transposition, 512 x 512, shm, {of}", NOT_BEHIND)
    return [*found, (matrix, Statement("transpose", 1048576))]


def times_of(said: str) -> Times:
    """What a program has printed; launchers may put the image before a line."""
    lines = [json.loads(line[line.index("{") :]) for line in said.splitlines() if '{"what":' in line]
    return {Statement(one["what"], one["bytes"]): one["ns"] for one in lines}


def run(found: Found, part: str) -> Times:
    """One job. Raises OSError, subprocess.TimeoutExpired."""
    variables = {"OMPL_CONDUITS": "self,shm"} | found.environment(1)
    return times_of(output(found.command([part]), TIMEOUT, None, **variables))


@dataclass
class Job(Entry[Times]):
    """A library's jobs of one part of the program."""

    name: str = field(kw_only=True)
    found: Found = field(kw_only=True)


def forth_and_back(index: int, turns: list[Job]) -> None:
    """The order of a round."""
    turns[:] = turns[:: -1 if index % 2 else 1]


def in_rounds(bench: Bench, found: Mapping[str, Found], part: str) -> dict[str, list[Times]]:
    """What the rounds give, without rivals that fail in one."""
    jobs = [Job(name=name, found=one) for name, one in found.items()]
    bench.progress.plan(ROUNDS * len(jobs))

    def block(job: Job, _index: int) -> Times | None:
        try:
            return run(job.found, part)
        except (OSError, subprocess.TimeoutExpired) as failure:
            if job.name == MINE:
                raise
            job.fail("failed", str(failure))
            return None
        finally:
            bench.progress.done()

    def where(job: Job, index: int) -> str:
        return f"coarrays, {part}, round {index + 1}: {job.name}"

    Rounds(jobs, block, Limits(rounds=ROUNDS, min_rounds=ROUNDS), forth_and_back, bench.progress, where).run()
    return {job.name: job.rounds for job in jobs if job.status == OK}


def compared(target: Target, statement: Statement, times: Mapping[str, Sequence[Times]]) -> Target:
    """Beside the rival that takes the least."""
    values = {name: [one[statement] for one in rounds] for name, rounds in times.items()}
    rivals = [name for name in values if name != MINE]
    if not rivals:
        return target.missing("no OpenCoarrays ran: apt-get install libcoarrays-openmpi-dev libcoarrays-mpich-dev")
    best = min(rivals, key=lambda name: statistics.median(values[name]))
    mine, theirs = (statistics.median(values[name]) for name in (MINE, best))
    return target.ratio(values[MINE], values[best], f"{best}; {mine:.4g} and {theirs:.4g} ns")


def beside(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """All statements, from the same rounds."""
    if catalog.cores() < 2:
        raise NotMeasuredError("needs two cores")
    found = {MINE: catalog.find(bench.table[MINE], bench.build, catalog.COARRAY)}
    for name in RIVALS:
        try:
            found[name] = catalog.find(bench.table[name], bench.build, catalog.COARRAY)
        except MissingError:
            continue  # without any, each target says so
    measured: dict[Statement, dict[str, list[Times]]] = {}
    for part in PARTS:
        times = in_rounds(bench, found, part)
        measured |= dict.fromkeys(times[MINE][0], times)
        bench.rows += [
            {"bench": "coarray", "library": name, "what": what, "bytes": size,
             "ns": [one[Statement(what, size)] for one in rounds]}
            for name, rounds in times.items() for what, size in rounds[0]
        ]  # fmt: skip
    for target, (_, statement) in zip(targets, declared(), strict=True):
        yield compared(target, statement, measured[statement])


def allocations(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Seconds of many allocations, each with its deallocation."""
    found = catalog.find(bench.table[MINE], bench.build, catalog.COARRAY)
    seconds = []
    for _ in range(ROUNDS):
        ((_, each),) = run(found, "allocate").items()
        seconds.append(each * ALLOCATIONS / 1e9)
    yield targets[0].within(stats.median_interval(seconds))


def measurements() -> Iterator[Measurement]:
    """The group."""
    yield Measurement(beside, *(target for target, _ in declared()))
    yield Measurement(
        allocations, at_most(f"coarrays: {ALLOCATIONS:,} allocations and deallocations, shm, 2 images", 1.0, "s")
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the progress thread: how soon a rank that computes answers, over each network conduit, and what an idle
thread takes from its computation."""

import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from omnipgas_tools.measure import stats
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, output
from omnipgas_tools.targets.target import Target, at_most

PROGRAM = "bin/ompl_bench_progress"
SECONDS = 5  # of the computation
ROUNDS = 40  # of idle computations, each with and without
LIMIT = 120.0  # seconds for a job
SOON = 1000.0  # us
SLOWER = 1.02
MPICH = "peers/mpich"
EMULATOR = "tests/conduits/utofu/lib"


@dataclass(frozen=True)
class Conduit:
    """A network conduit between two ranks of this machine."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    by_mpi: bool = False
    emulated: bool = False


CONDUITS = (
    Conduit("ofi"),
    Conduit("ucx", {"UCX_TLS": "tcp,self"}),
    Conduit("mpi", {"OMPL_SEGMENT_SIZE": "64M"}, by_mpi=True),
    Conduit("utofu", {"OMPL_SEGMENT_SIZE": "64M"}, emulated=True),
)


def lines(build: Path, conduit: Conduit, task: str, amount: float) -> dict[str, dict[str, list[float]]]:
    """What the program prints, by operation."""
    command = [build / PROGRAM, task, f"{amount:g}"]
    start: list[object] = [build / "bin/omplrun", "-n", 2, "--no-prefix"]
    variables = {"OMPL_CONDUITS": f"self,{conduit.name}", **conduit.variables}
    if conduit.by_mpi:
        prefix = build / MPICH
        if not (prefix / "bin/mpiexec").exists():
            raise NotMeasuredError("MPICH is not installed")
        start = [prefix / "bin/mpiexec", "-n", 2, "env", f"LD_PRELOAD={prefix / 'lib/libmpi.so.12'}"]
    with tempfile.TemporaryDirectory() as folder:
        if conduit.emulated:
            variables |= {"UTOFU_EMULATOR_FABRIC": f"{folder}/fabric", "LD_LIBRARY_PATH": str(build / EMULATOR)}
        said = output([*start, *command], LIMIT, os.environ | variables)
    found = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return {line["op"]: line for line in found}


def times(answers: Sequence[float]) -> tuple[stats.Interval, str]:
    """The median with its quartiles, and the slow ones in words."""
    first, middle, third = statistics.quantiles(answers, n=4)
    late = statistics.quantiles(answers, n=100)[-1]
    note = f"quartiles of {len(answers)}; 99 % within {late:.0f} us, the slowest {max(answers):.0f}"
    return stats.Interval(middle, first, third, len(answers)), note


def answers(conduit: Conduit, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """A get and a fetch-add, with the thread; and the fetch-add without."""
    served = lines(bench.build, conduit, "answers", SECONDS)
    for target, op in zip(targets, ("get", "fetch_add"), strict=False):
        yield target.within(*times(served[op]["us"]))
    alone = lines(bench.build, conduit, "absent", SECONDS)["absent"]["us"]
    yield targets[2].found(alone[0])


def idle(conduit: Conduit, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The computation with the thread over that without, in rounds that alternate."""
    found = lines(bench.build, conduit, "idle", ROUNDS)["idle"]
    yield targets[0].ratio(found["with_s"], found["without_s"])


def measurements() -> Iterator[Measurement]:
    """Both, of each conduit."""
    for conduit in CONDUITS:
        at = f"{conduit.name}, at a rank that computes for {SECONDS} s"
        yield Measurement(
            partial(answers, conduit),
            at_most(f"get of 8 B, {at}", SOON, "us"),
            at_most(f"fetch-add, {at}", SOON, "us"),
            at_most(f"the same without a progress thread, {conduit.name}", None, "us"),
        )
        yield Measurement(
            partial(idle, conduit),
            at_most(f"computation beside an idle progress thread, {conduit.name}, of that without", SLOWER),
        )

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of tracing: what it costs."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.compilers import target_of
from omnipgas_tools.measure import stats
from omnipgas_tools.model import examples
from omnipgas_tools.model.build_examples import c_compiler
from omnipgas_tools.model.tracers import choose
from omnipgas_tools.targets.accuracy import MPIS
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, in_turn, output
from omnipgas_tools.targets.target import Target, at_most

PROGRAM = CHECKOUT / "instruments/tests/trace/programs/cost.c"
CALLS, ROUNDS = 20000, 15
HALO, PAIRS = {256: 2000, 1024: 200}, 31  # steps by the points of a side: nine calls each, whatever the side
LIMIT = 60.0  # seconds


def measurements() -> Iterator[Measurement]:
    """Nanoseconds a call, and the halo example, in turns with a tracer and without."""
    for mpi in MPIS:
        yield Measurement(partial(cost_of_call, mpi), at_most(f"tracing {mpi}, a call", 100.0, "ns"))
        for side in HALO:
            name = f"halo example, {side} x {side}, traced, {mpi}, of its time untraced"
            yield Measurement(partial(cost_of_halo, mpi, side), at_most(name, 1.01))


def cost_of_call(mpi: str, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Of the functions in cost.c the one that tracing costs most."""
    target = target_of(catalog.table(bench.build)[mpi], bench.build)
    launch = examples.launch(bench.build, mpi, 1)
    more: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="omni-tracing-") as folder:
        program = Path(folder, "cost")
        replace(target, compiler=c_compiler(target.compiler)).run("-O2", PROGRAM, "-o", program)
        line = launch.line(1, program, [CALLS])
        tracer = choose(bench.build, line)
        for i in range(ROUNDS):
            out = Path(folder, f"trace{i}")
            out.mkdir()
            without, traced = (nanoseconds(line, launch.environment(extra)) for extra in ({}, tracer.preload(out)))
            for call, ns in traced.items():
                more[call].append(ns - without[call])
    found = {call: stats.median_interval(values) for call, values in more.items()}
    call, worst = max(found.items(), key=lambda one: one[1].median)
    yield targets[0].within(worst, call)


def nanoseconds(line: list[str], env: dict[str, str]) -> dict[str, float]:
    """What cost.c prints, by call."""
    lines = [json.loads(text) for text in output(line, LIMIT, env).splitlines() if text.startswith("{")]
    return {one["call"]: one["ns"] for one in lines}


def cost_of_halo(mpi: str, side: int, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The part that it times itself."""
    launch = examples.launch(bench.build, mpi, 2)
    line = launch.line(2, examples.program(bench.build, mpi, "halo"), [side, HALO[side]])
    tracer = choose(bench.build, line)

    def traced() -> float:
        with tempfile.TemporaryDirectory(prefix="omni-tracing-") as out:
            return seconds(line, launch.environment(tracer.preload(Path(out))))

    times = in_turn(PAIRS, {"untraced": lambda: seconds(line, launch.environment({})), "traced": traced})
    yield targets[0].ratio(times["traced"], times["untraced"])


def seconds(line: list[str], env: dict[str, str]) -> float:
    """What an example says that it took."""
    said = output(line, LIMIT, env)
    if not (found := examples.SECONDS.search(said)):
        raise NotMeasuredError(f"{line}: {said}")
    return float(found[1])

# SPDX-License-Identifier: BSD-3-Clause
"""The figures of tracing: what it costs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import peers
from omnipgas_tools.libraries.compilers import FailedError, target_of
from omnipgas_tools.measure import stats
from omnipgas_tools.model import examples, timer
from omnipgas_tools.model.build_examples import c_compiler
from omnipgas_tools.model.tracers import NoTracerError, choose
from omnipgas_tools.targets.accuracy import MPIS
from omnipgas_tools.targets.target import Target, interval, missing

PROGRAM = CHECKOUT / "instruments/tests/trace/programs/cost.c"
CALLS, ROUNDS = 20000, 15
HALO, PAIRS = {256: 2000, 1024: 200}, 31  # steps by the points of a side: nine calls each, whatever the side
LIMIT = 60.0  # seconds
FAILURES = (
    FailedError, NoTracerError, OSError, peers.MissingError, subprocess.SubprocessError, timer.TimerError,
)  # fmt: skip


def tracing(build: Path) -> list[Target]:
    """Nanoseconds a call, and the halo example, in turns with a tracer and without."""
    figures = []
    for mpi in MPIS:
        call = f"tracing {mpi}, a call"
        halo = {side: f"halo example, {side} x {side}, traced, {mpi}, of its time untraced" for side in HALO}
        try:
            figures += [cost_of_call(build, mpi, call)]
            figures += [cost_of_halo(build, mpi, side, name) for side, name in halo.items()]
        except FAILURES as error:
            figures += [missing(call, 100.0, True, str(error))]
            figures += [missing(name, 1.01, True, str(error)) for name in halo.values()]
    return figures


def cost_of_call(build: Path, mpi: str, name: str) -> Target:
    """Of the functions in cost.c the one that tracing costs most."""
    target = target_of(peers.table(build)[mpi], build)
    launch = examples.launch(build, mpi, 1)
    more: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="omni-tracing-") as folder:
        program = Path(folder, "cost")
        replace(target, compiler=c_compiler(target.compiler)).run("-O2", PROGRAM, "-o", program)
        line = launch.line(1, program, [CALLS])
        tracer = choose(build, line)
        for i in range(ROUNDS):
            out = Path(folder, f"trace{i}")
            out.mkdir()
            without, traced = (nanoseconds(line, launch.environment(extra)) for extra in ({}, tracer.preload(out)))
            for call, ns in traced.items():
                more[call].append(ns - without[call])
    found = {call: stats.median_interval(values) for call, values in more.items()}
    call, worst = max(found.items(), key=lambda one: one[1].median)
    return Target(name, worst.median, 100.0, True, worst.low, worst.high, unit="ns", note=call)


def nanoseconds(line: list[str], env: dict[str, str]) -> dict[str, float]:
    """What cost.c prints, by call."""
    lines = [json.loads(text) for text in run(line, env).splitlines() if text.startswith("{")]
    return {one["call"]: one["ns"] for one in lines}


def run(line: list[str], env: dict[str, str]) -> str:
    """What a job prints."""
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=LIMIT, check=True).stdout


def cost_of_halo(build: Path, mpi: str, side: int, name: str) -> Target:
    """The part that it times itself."""
    launch = examples.launch(build, mpi, 2)
    line = launch.line(2, examples.program(build, mpi, "halo"), [side, HALO[side]])
    times: dict[bool, list[float]] = {True: [], False: []}
    tracer = choose(build, line)
    for i in range(PAIRS):
        for traced in (True, False) if i % 2 else (False, True):
            with tempfile.TemporaryDirectory(prefix="omni-tracing-") as out:
                times[traced].append(seconds(line, launch.environment(tracer.preload(Path(out)) if traced else {})))
    return interval(name, times[True], times[False], 1.01, True)


def seconds(line: list[str], env: dict[str, str]) -> float:
    """What an example says that it took."""
    said = run(line, env)
    if not (found := examples.SECONDS.search(said)):
        raise timer.TimerError(f"{line}: {said}")
    return float(found[1])

# SPDX-License-Identifier: BSD-3-Clause
"""The "must show" targets: the table of all groups, and the runner that measures them, compares each with its bound
and keeps the evidence.

A target is a ratio of medians over interleaved rounds wherever a time is concerned; counts and sizes are what they
are. A missed bound stays in the list as missed. measurement.py says how a target is measured.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from omnipgas_tools import files
from omnipgas_tools.measure import results
from omnipgas_tools.targets import (
    accuracy,
    checkout,
    comparison,
    conduits,
    halo,
    halo_overlap,
    layer,
    network,
    overlap,
    progress,
    replay,
    runtimes,
    shm,
    sockets,
    solver,
    start_up,
    tracing,
    tuner,
)  # fmt: skip
from omnipgas_tools.targets.clients import cholesky, coarray, openshmem, tasks
from omnipgas_tools.targets.measurement import Bench, Group, Measurement
from omnipgas_tools.targets.target import Target, at_least, at_most

SCHEMA = "omnipgas-figures-2"

# A module that generates many targets by size, library or transport yields them; a few of a kind are written here.
GROUPS: dict[str, Sequence[Measurement]] = {
    "instructions": [Measurement(layer.instructions, at_most("instructions of 8 B ompl_put + ompl_put_word", 150.0))],
    "footprint": [Measurement(layer.footprint,
        at_most("private memory (USS) of a rank of a 2-rank hello", 5.0, "MiB"),
        at_most("omplrun -n 2 hello", 150.0, "ms"),
        at_most("omplrun -n 64 hello with a barrier", 3.0, "s"))],
    "start-up": [start_up.measurement()],
    "one-thread": [*shm.one_thread()],
    "rate": [*shm.rate()],
    "tcp": [*sockets.measurements()],
    "ofi": [*network.ofi()],
    "ucx": [*network.ucx()],
    "sleeper": [Measurement(network.sleeper,
        at_least(f"{network.SHARING}: others that go on", network.ALL - 1),
        at_least(f"{network.SHARING}: rate of the others, of theirs with all awake", 0.9, "x"))],
    "cores16": [Measurement(network.cores16,
        at_least("rate of 8 threads on 3 slots, TCP between namespaces, of 8 on 8", 0.9),
        at_least("rate of 8 threads in one process, TCP between namespaces, of 8 processes", 1.0))],
    "many-threads": [*shm.many_threads()],
    "comparison": [Measurement(comparison.comparison, *comparison.declared())],
    "ranking": [Measurement(comparison.ranking,
        at_most("pairs of libraries that two runs rank the other way round", 0))],
    "operations": [Measurement(layer.operations,
        at_least("nonblocking puts, shm, 64 of 1 KiB at once, rate of the baseline's", 0.9),
        at_most("strided put, shm, a column of 1,000 x 8 B, of a loop by hand", 1.3),
        at_most("fetch-add of 64 bits, shm, of the checked atomic", 1.3))],
    "runtimes": [*runtimes.measurements()],
    "openshmem": [*openshmem.measurements()],
    "coarray": [*coarray.measurements()],
    "bindings": [Measurement(layer.bindings,
        at_most("ping-pong of 8 B, shm, Fortran, of C", 1.05),
        at_most("ping-pong of 8 B, shm, Python, round trip over C's", 2.0, "us"))],
    "aarch64": [Measurement(layer.aarch64, at_most("tests of one node that fail on aarch64 under qemu-user", 0))],
    "verbs": [
        conduits.verbs("put+flag", (250.0, 1.0, 2.0)),
        conduits.verbs("put_signal", (250.0, 1.0, 1.0)),
        Measurement(conduits.verbs_growth,
            at_least("verbs, 8 B put+flag, growth from 1 to 2 threads on 2 slots, of bare queue pairs'", 0.9)),
        Measurement(conduits.verbs_crowd, at_least("verbs, 8 threads on 1 slot, messages of the slowest", 1.0))],
    "utofu": [
        conduits.utofu("put+flag", (300.0, 2.0, 2.0)),
        conduits.utofu("put_signal", (300.0, 2.0, 2.0)),
        Measurement(conduits.utofu_messages,
            at_least("utofu, messages under scrambled order that arrived whole", 1e6))],
    "checkout": [*checkout.measurements()],
    "coverage": [Measurement(layer.coverage,
        at_most("cells of the coverage table that are empty without a reason", 0),
        at_least("lines of src/ that the tests run", 90, "%"))],
    "equations": [Measurement(replay.equations, at_least("equations, tables and random messages: tests that pass", 4))],
    "replay": [*replay.measurements()],
    "halo": [*halo.measurements()],
    "halo-overlap": [*halo_overlap.measurements()],
    "cg": [solver.rounds()],
    "overlap": [*overlap.measurements()],
    "progress": [*progress.measurements()],
    "tuner": [*tuner.measurements()],
    "tasks": [*tasks.measurements()],
    "cholesky": [*cholesky.measurements()],
    "fit": [*accuracy.fit()],
    "predictions": [*accuracy.predictions()],
    "elimination": [*accuracy.elimination()],
    "tracing": [*tracing.measurements()],
}  # fmt: skip


def declared(group: str) -> list[Target]:
    """The targets of a group, not measured."""
    return [target for measurement in GROUPS[group] for target in measurement.targets]


def measure(bench: Bench, groups: Sequence[str]) -> Iterator[Target]:
    """The targets of the groups, each as soon as it is measured; of a group that is cut off, those so far are kept."""
    for group in groups:
        bench.cells, bench.rows, bench.machine = [], [], None
        found: list[Target] = []
        try:
            for measurement in GROUPS[group]:
                for target in measurement.answers(bench):
                    found.append(target)
                    yield target
        finally:
            bench.groups[group] = {
                "machine": bench.machine or results.machine(),
                "figures": [asdict(f) | {"met": f.met} for f in found],
                "results": [*map(results.from_cell, bench.cells), *bench.rows],
            }
            if bench.machine:
                bench.groups[group]["given"] = [run["name"] for run in bench.given]  # whose results stay in their files


def write(folder: Path, groups: Mapping[str, Group]) -> Path:
    """Stores the result file: per group the machine, the targets, and every cell behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "figures.json"
    files.write(path, json.dumps({"schema": SCHEMA, "groups": dict(groups)}, indent=1) + "\n")
    return path

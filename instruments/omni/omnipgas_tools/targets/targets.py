# SPDX-License-Identifier: BSD-3-Clause
"""The "must show" figures: measures each, compares it with its bound, keeps the evidence.

A figure is a ratio of medians over interleaved rounds wherever a time is concerned; counts and sizes are
what they are. A missed bound stays in the list as missed.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from omnipgas_tools.measure import results
from omnipgas_tools.measure.runner import Cell
from omnipgas_tools.targets import accuracy as accuracy_targets
from omnipgas_tools.targets import comparison as comparison_targets
from omnipgas_tools.targets import halo as halo_targets
from omnipgas_tools.targets import halo_overlap as halo_overlap_targets
from omnipgas_tools.targets import layer as layer_targets
from omnipgas_tools.targets import network as network_targets
from omnipgas_tools.targets import overlap as overlap_targets
from omnipgas_tools.targets import replay as replay_targets
from omnipgas_tools.targets import solver as solver_targets
from omnipgas_tools.targets import tracing as tracing_targets
from omnipgas_tools.targets import tuner as tuner_targets
from omnipgas_tools.targets import utofu as utofu_targets
from omnipgas_tools.targets import verbs as verbs_targets
from omnipgas_tools.targets.bench import Bench, Group, best, limits, ratio
from omnipgas_tools.targets.target import Target, interval, missing

SCHEMA = "omnipgas-figures-2"
MPIS = ("mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian")
SMALL = (8, 64, 512, 4096)
LARGE = (65536, 262144, 1048576, 4194304)


def one_thread(bench: Bench) -> list[Target]:
    """Put + flag, one thread, against the twin."""
    pair = bench.contenders(("raw", "ompl"), ("put",))
    figures = []
    for sizes, bound in ((SMALL, 1.2), (LARGE, 1.1)):
        outcome = bench.run("pingpong", pair, (1,), sizes, limits())
        for size in sizes:
            mine, twin = outcome.cell("ompl", "put", 1, size), outcome.cell("raw", "put", 1, size)
            figures.append(ratio(f"put+flag, shm, 1 thread, {size} B, of the twin", mine, twin, bound))
    return figures


def many_threads(bench: Bench) -> list[Target]:
    """Put + flag, more threads than cores, against the twin, the best MPI and each other."""
    contenders = bench.contenders(("raw", "ompl"), ("put",)) + bench.contenders(MPIS, ("sendrecv", "put"))
    figures = []
    for threads in (2, 4, 8):
        outcome = bench.run("pingpong", contenders, (threads,), SMALL, limits())
        for size in SMALL:
            mine, twin = (outcome.cell(lib, "put", threads, size) for lib in ("ompl", "raw"))
            where = f"put+flag, shm, {threads} threads, {size} B"
            figures.append(ratio(f"{where}, of the twin", mine, twin, 1.3))
            for op, bound in (("sendrecv", 0.5), ("put", 1.0)):
                mpis = [c for lib in MPIS if (c := outcome.cell(lib, op, threads, size))]
                first = best(mpis)
                name = f"{where}, of the best MPI {op}" + (f" ({first.contender.library})" if first else "")
                figures.append(ratio(name, mine, first, bound))
            figures.append(_spread(where, mine, twin))
    return figures


def _spread(where: str, mine: Cell | None, twin: Cell | None) -> Target:
    """Slowest thread over fastest; the bound is 3, or 1.3 times the twin's where that is more."""
    name = f"{where}, slowest thread of the fastest"
    if mine is None or twin is None or not mine.rounds or not twin.rounds:
        return missing(name, 3.0, True, "was not measured")
    spreads = [
        statistics.median(r.slowest_us / r.fastest_us for r in cell.rounds if r.fastest_us > 0) for cell in (mine, twin)
    ]
    return Target(name, spreads[0], max(3.0, 1.3 * spreads[1]), True, unit="x", note=f"twin {spreads[1]:.2f}")


def rate(bench: Bench) -> list[Target]:
    """Messages per second at a sleeping target."""
    pair = bench.contenders(("raw", "ompl"), ("put", "putonly"))
    outcome = bench.run("rate", pair, (1, 2), (8,), limits())

    def rounds(library: str, op: str, threads: int) -> list[float]:
        cell = outcome.cell(library, op, threads, 8)
        return cell.values() if cell else []

    one = interval(
        "rate at a sleeping target, 8 B put + flag, 1 thread, of the twin",
        rounds("ompl", "put", 1), rounds("raw", "put", 1), 0.8, at_most=False,
    )  # fmt: skip
    growth = {
        library: [b / a for a, b in zip(rounds(library, "put", 1), rounds(library, "put", 2), strict=False)]
        for library in ("ompl", "raw")
    }
    grown = interval(
        "rate at a sleeping target, growth from 1 to 2 threads, of the twin's",
        growth["ompl"], growth["raw"], 0.9, at_most=False,
    )  # fmt: skip
    alone = interval(
        "rate of 8 B puts alone, 1 thread, of the checked twin",
        rounds("ompl", "putonly", 1), rounds("raw", "putonly", 1), 0.5, at_most=False,
    )  # fmt: skip
    return [one, grown, alone]


def instructions(bench: Bench) -> list[Target]:
    """Instructions of an 8-byte put and a signal, all checks on, counted by callgrind."""
    name, bound = "instructions of 8 B ompl_put + ompl_put_word", 150.0
    program = bench.build / "bin" / "ompl_bench_instructions"
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                   "--toggle-collect=measured_calls", str(program)]  # fmt: skip
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=120, check=False,
                env={**os.environ, "OMPL_SEGMENT_SIZE": "64M"},
            )  # fmt: skip
        except FileNotFoundError:
            return [missing(name, bound, True, "valgrind is not installed")]
    collected = re.search(r"Collected : (\d+)", run.stderr)
    calls = re.search(r"calls (\d+)", run.stdout)
    if run.returncode != 0 or not collected or not calls:
        return [missing(name, bound, True, f"the program failed: {run.stderr[-300:]}")]
    return [Target(name, int(collected[1]) / int(calls[1]), bound, True, note="with the calling loop")]


def footprint(bench: Bench) -> list[Target]:
    """Private memory and start-up times."""
    hello = [str(bench.build / "bin" / "omplrun"), "-n", "2", str(bench.build / "bin" / "ompl_bench_hello")]

    def seconds(ranks: int, repeats: int) -> float:
        taken = []
        for _ in range(repeats):
            start = time.monotonic()
            subprocess.run([*hello[:2], str(ranks), hello[3]], check=True, timeout=60, capture_output=True)
            taken.append(time.monotonic() - start)
        return statistics.median(taken)

    private = subprocess.run(hello, check=True, timeout=60, capture_output=True, text=True).stdout
    kib = [int(found) for found in re.findall(r"private (\d+) KiB", private)]
    return [
        Target("private memory (USS) of a rank of a 2-rank hello", max(kib) / 1024, 5.0, True, unit="MiB"),
        Target("omplrun -n 2 hello", seconds(2, 15) * 1e3, 150.0, True, unit="ms"),
        Target("omplrun -n 64 hello with a barrier", seconds(64, 5), 3.0, True, unit="s"),
    ]


GROUPS: dict[str, Callable[[Bench], list[Target]]] = {
    "instructions": instructions,
    "footprint": footprint,
    "one-thread": one_thread,
    "rate": rate,
    "tcp": network_targets.tcp,
    "ofi": network_targets.ofi,
    "ucx": network_targets.ucx,
    "sleeper": network_targets.sleeper,
    "cores16": network_targets.cores16,
    "many-threads": many_threads,
    "comparison": comparison_targets.comparison,
    "ranking": comparison_targets.ranking,
    "operations": lambda bench: layer_targets.operations(bench.build),
    "bindings": lambda bench: layer_targets.bindings(bench.build),
    "aarch64": lambda bench: layer_targets.aarch64(bench.build),
    "verbs": lambda bench: verbs_targets.figures(bench.build),
    "utofu": lambda bench: utofu_targets.figures(bench.build),
    "coverage": lambda bench: layer_targets.coverage(bench.build),
    "equations": lambda bench: replay_targets.equations(bench.build),
    "replay": lambda bench: replay_targets.replay(bench.build),
    "halo": halo_targets.figures,
    "halo-overlap": halo_overlap_targets.figures,
    "cg": solver_targets.figures,
    "overlap": overlap_targets.figures,
    "tuner": tuner_targets.figures,
    "fit": lambda bench: accuracy_targets.fit(bench.build),
    "predictions": lambda bench: accuracy_targets.predictions(bench.build),
    "elimination": lambda bench: accuracy_targets.elimination(bench.build),
    "tracing": lambda bench: tracing_targets.tracing(bench.build),
}


def measure(bench: Bench, groups: Sequence[str]) -> Iterator[Target]:
    """The figures of the groups, each as soon as its group is measured."""
    for group in groups:
        bench.cells, bench.rows, bench.machine = [], [], None
        found = GROUPS[group](bench)
        bench.groups[group] = {
            "machine": bench.machine or results.machine(),
            "figures": [asdict(f) | {"met": f.met} for f in found],
            "results": [*map(results.from_cell, bench.cells), *bench.rows],
        }
        if bench.machine:
            bench.groups[group]["given"] = [run["name"] for run in bench.given]  # whose results stay in their files
        yield from found


def write(folder: Path, groups: Mapping[str, Group]) -> Path:
    """Stores the result file: per group the machine, the figures, and every cell behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "figures.json"
    path.write_text(json.dumps({"schema": SCHEMA, "groups": dict(groups)}, indent=1) + "\n")
    return path

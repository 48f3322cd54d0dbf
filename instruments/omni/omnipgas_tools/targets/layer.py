# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the whole layer: instructions, memory, start-up, operations and bindings beside baselines, coverage."""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from omnipgas_tools import CHECKOUT, files
from omnipgas_tools.measure.stats import Interval
from omnipgas_tools.targets import callgrind
from omnipgas_tools.targets import coverage as counted
from omnipgas_tools.targets.measurement import Bench, NotMeasuredError, in_turn, output
from omnipgas_tools.targets.target import Target


def job(build: Path, ranks: int, *command: object) -> list[object]:
    """The command line of a job on this node."""
    return [build / "bin/omplrun", "-n", ranks, *command]


# ---- instructions and footprint


def instructions(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """An 8-byte put and a signal, all checks on, counted by callgrind."""
    program = str(bench.build / "bin/ompl_bench_instructions")
    seen = callgrind.profile([program], "measured_calls", "", {**os.environ, "OMPL_SEGMENT_SIZE": "64M"})
    if not (calls := re.search(r"calls (\d+)", seen.output)):
        raise NotMeasuredError(f"the program failed: {seen.output[-300:]}")
    yield targets[0].found(seen.total / int(calls[1]), "with the calling loop")


def footprint(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Private memory and start-up times."""

    def hello(ranks: int) -> str:
        return output(job(bench.build, ranks, bench.build / "bin/ompl_bench_hello"), 60)

    def seconds(ranks: int, repeats: int) -> float:
        taken = []
        for _ in range(repeats):
            start = time.monotonic()
            hello(ranks)
            taken.append(time.monotonic() - start)
        return statistics.median(taken)

    memory, two, many = targets
    yield memory.found(max(int(kib) for kib in re.findall(r"private (\d+) KiB", hello(2))) / 1024)
    yield two.found(seconds(2, 15) * 1e3)
    yield many.found(seconds(64, 5))


# ---- operations

OPERATIONS = ("put_nb", "strided", "fetch_add")  # in the order of their targets


def operations(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Operations of ompl_ext.h to a rank that sleeps, each in rounds that alternate with its baseline's."""
    mine: dict[str, list[float]] = defaultdict(list)
    baseline: dict[str, list[float]] = defaultdict(list)
    for line in output(job(bench.build, 2, "--no-prefix", bench.build / "bin/ompl_bench_operations"), 120).splitlines():
        found = json.loads(line)
        mine[found["op"]].append(found["ompl_ns"])
        baseline[found["op"]].append(found["twin_ns"])
    for op, target in zip(OPERATIONS, targets, strict=True):
        # A lower bound is one of the rate, the inverse of the time.
        over, under = (mine, baseline) if target.at_most else (baseline, mine)
        yield target.ratio(over[op], under[op])


# ---- bindings

PING_PONGS = {"C": ["{bin}/pingpong"], "Fortran": ["{bin}/pingpong_f90"],
              "Python": [sys.executable, "{examples}/pingpong.py"]}  # fmt: skip
PING_PONG_ROUNDS = 30


def bindings(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The example's 8-byte ping-pong in each language, in rounds that take them in turn; microseconds one way."""
    places = {"bin": bench.build / "bin", "examples": CHECKOUT / "examples"}
    library = str(bench.build / "lib/libomnipgas.so")

    def one_way(language: str) -> float:
        program = [word.format(**places) for word in PING_PONGS[language]]
        trips = 20000 if language == "Python" else 200000
        said = output(job(bench.build, 2, *program, 8, trips), 60, OMNIPGAS_LIBRARY=library)
        found = re.search(r"([\d.]+) us one way", said)
        return float(found[1]) if found else float("nan")

    took = in_turn(PING_PONG_ROUNDS, {language: partial(one_way, language) for language in PING_PONGS})
    fortran, python = targets
    yield fortran.ratio(took["Fortran"], took["C"])
    over = [2 * (mine - c) for mine, c in zip(took["Python"], took["C"], strict=True)]
    first, _, third = statistics.quantiles(over, n=4)
    yield python.within(Interval(statistics.median(over), first, third, len(over)), "quartiles")


# ---- tests


def aarch64(_: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The tests of one node, compiled for aarch64, under qemu-user."""
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts/aarch64.py")],
        capture_output=True, text=True, timeout=5400, check=False,
    )  # fmt: skip
    passed = re.search(r"aarch64: (\d+) passed", done.stdout)
    if done.returncode != 0 or not passed:
        raise NotMeasuredError(done.stdout.strip().splitlines()[-1])
    yield targets[0].found(0, f"{passed[1]} passed")


def coverage(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Functions of the headers over every conduit, and lines of src/ that the tests run."""
    found = counted.measure(CHECKOUT, lambda what: print(what, flush=True))
    (bench.build / "results").mkdir(exist_ok=True)
    files.write(bench.build / "results" / "coverage.md", found.page())
    empty = found.empty_cells()
    over = f"{len(found.functions)} functions, conduits {', '.join(found.ran)}"
    where = ", ".join(f"{function} over {conduit}" for function, conduit in empty[:5])
    cells, share = targets
    yield cells.found(len(empty), where or over)
    yield share.found(found.percent())

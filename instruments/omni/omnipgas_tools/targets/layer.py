# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the whole layer: operations beside their twins, coverage of the headers and of the sources."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from omnipgas_tools import CHECKOUT
from omnipgas_tools.targets import coverage as counted
from omnipgas_tools.targets.target import Target, interval, missing

# Name, bound, whether it is an upper one of the time (else a lower one of the rate).
OPERATIONS = {
    "put_nb": ("nonblocking puts, shm, 64 of 1 KiB at once, rate of the twin's", 0.9, False),
    "strided": ("strided put, shm, a column of 1,000 x 8 B, of a loop by hand", 1.3, True),
    "fetch_add": ("fetch-add of 64 bits, shm, of the checked atomic", 1.3, True),
}


def operations(build: Path) -> list[Target]:
    """Operations of ompl_ext.h to a rank that sleeps, each in rounds that alternate with its twin's."""
    command = [str(build / "bin/omplrun"), "--no-prefix", "-n", "2", str(build / "bin/ompl_bench_operations")]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return [missing(name, bound, at_most, str(error)) for name, bound, at_most in OPERATIONS.values()]
    mine: dict[str, list[float]] = defaultdict(list)
    twin: dict[str, list[float]] = defaultdict(list)
    for line in output.splitlines():
        found = json.loads(line)
        mine[found["op"]].append(found["ompl_ns"])
        twin[found["op"]].append(found["twin_ns"])
    return [
        # The rate is the inverse of the time.
        interval(name, mine[op], twin[op], bound, True) if at_most else interval(name, twin[op], mine[op], bound, False)
        for op, (name, bound, at_most) in OPERATIONS.items()
    ]


PING_PONGS = {"C": ["{bin}/pingpong"], "Fortran": ["{bin}/pingpong_f90"],
              "Python": [sys.executable, "{examples}/pingpong.py"]}  # fmt: skip
PING_PONG_ROUNDS = 30


def bindings(build: Path) -> list[Target]:
    """The example's 8-byte ping-pong in each language, in rounds that take them in turn; microseconds one way."""
    names = {
        "Fortran": "ping-pong of 8 B, shm, Fortran, of C",
        "Python": "ping-pong of 8 B, shm, Python, round trip over C's",
    }
    took: dict[str, list[float]] = defaultdict(list)
    places = {"bin": build / "bin", "examples": CHECKOUT / "examples"}
    try:
        for _ in range(PING_PONG_ROUNDS):
            for language, program in PING_PONGS.items():
                command = [str(build / "bin/omplrun"), "-n", "2", *(word.format(**places) for word in program)]
                done = subprocess.run(
                    [*command, "8", "200000" if language != "Python" else "20000"],
                    capture_output=True, text=True, timeout=60, check=True,
                    env={**os.environ, "OMNIPGAS_LIBRARY": str(build / "lib/libomnipgas.so")},
                )  # fmt: skip
                found = re.search(r"([\d.]+) us one way", done.stdout)
                took[language].append(float(found[1]) if found else float("nan"))
    except (OSError, subprocess.SubprocessError) as error:
        return [missing(names["Fortran"], 1.05, True, str(error)), missing(names["Python"], 2.0, True, str(error))]
    over = [2 * (mine - c) for mine, c in zip(took["Python"], took["C"], strict=True)]
    return [
        interval(names["Fortran"], took["Fortran"], took["C"], 1.05, True),
        Target(names["Python"], statistics.median(over), 2.0, True, *quartiles(over), unit="us", note="quartiles"),
    ]


def quartiles(values: list[float]) -> tuple[float, float]:
    """The first and the third."""
    first, _, third = statistics.quantiles(values, n=4)
    return first, third


def aarch64(build: Path) -> list[Target]:
    """The tests of one node, compiled for aarch64, under qemu-user."""
    del build  # its own, below build/
    name = "tests of one node that fail on aarch64 under qemu-user"
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts/aarch64.py")],
        capture_output=True, text=True, timeout=5400, check=False,
    )  # fmt: skip
    passed = re.search(r"aarch64: (\d+) passed", done.stdout)
    if done.returncode == 0 and passed:
        return [Target(name, 0, 0, True, note=f"{passed[1]} passed")]
    return [missing(name, 0, True, done.stdout.strip().splitlines()[-1])]


def coverage(build: Path) -> list[Target]:
    """Functions of the headers over every conduit, and lines of src/ that the tests run."""
    cells = "cells of the coverage table that are empty without a reason"
    share = "lines of src/ that the tests run"
    try:
        found = counted.measure(CHECKOUT, lambda what: print(what, flush=True))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return [missing(cells, 0, True, str(error)), missing(share, 90, False, "was not measured")]
    (build / "results").mkdir(exist_ok=True)
    (build / "results" / "coverage.md").write_text(found.page())
    empty = found.empty_cells()
    over = f"{len(found.functions)} functions, conduits {', '.join(found.ran)}"
    where = ", ".join(f"{function} over {conduit}" for function, conduit in empty[:5])
    return [
        Target(cells, len(empty), 0, True, note=where or over),
        Target(share, found.percent(), 90, False, unit="%"),
    ]

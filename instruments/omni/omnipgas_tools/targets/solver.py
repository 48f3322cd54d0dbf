# SPDX-License-Identifier: BSD-3-Clause
"""The figures of CG: an iteration and the set-up beside PETSc and hypre, and an iteration beside what its bytes take,
all in the same rounds."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omnipgas_tools.commands import solve
from omnipgas_tools.libraries import peers
from omnipgas_tools.model import examples
from omnipgas_tools.targets import bench
from omnipgas_tools.targets.target import Target, interval, missing

SIDE = 100  # of the cube; its oracle: docs/solver.md
TOLERANCE = 1e-8
RANKS = 2
PEER_MPI = "openmpi-debian"  # of Debian's packages
PEERS = {"petsc": "PETSc 3.18 KSPCG", "hypre": "hypre 2.26 PCG"}  # of Debian 12
OF_PEERS = {"csr": 0.90, "sell": 0.75}
OF_FLOOR, OF_SET_UP = 1.15, 1.0
# Bytes that an iteration must move. Of an entry: value and column or offset. Of a row: where it begins (CSR: 64 bit;
# SELL: a chunk of 32 B for 8 rows, and 16 bit for each row's place), x, and y, which comes before it goes; and the
# vector operations (instruments/solver/cg/vectors.hpp).
OF_ENTRY = {"csr": 12, "sell": 10}
OF_ROW = {"csr": 8 + 24 + 64, "sell": 6 + 24 + 64}
BANDWIDTH_MIB = 256  # of each core's array: no cache holds it
LIMIT = 300.0  # seconds of a run

Run = dict[str, Any]


def figures(bench_: bench.Bench, side: int = SIDE, rounds: int = bench.ROUNDS) -> list[Target]:
    """Each round takes every solver and the bandwidth once, in shuffled order."""
    contenders: dict[str, Callable[[], Run]] = {
        "csr": lambda: ours(side, "csr"),
        "sell": lambda: ours(side, "sell"),
        "bandwidth": lambda: bandwidth(bench_.build),
        **{name: lambda name=name: peer(bench_.build, name, side) for name in PEERS},  # type: ignore[misc]
    }
    found: dict[str, list[Run]] = {name: [] for name in contenders}
    failed: dict[str, str] = {}
    order = random.Random(1)
    bench_.progress.plan(rounds)
    for number in range(rounds):
        for name in order.sample(sorted(contenders), len(contenders)):
            if name in failed:
                continue
            bench_.progress.at(f"round {number + 1}: {name}")
            try:
                found[name].append(contenders[name]())
            except (peers.MissingError, solve.SolveError, OSError, subprocess.SubprocessError, ValueError) as error:
                failed[name] = str(error)
        bench_.progress.done()
    bench_.rows.append({"bench": "cg", "side": side, "ranks": RANKS, "runs": found, "failed": failed})
    return compared(found, failed, side)


def ours(side: int, format_: str) -> Run:
    """omni cg with that format of the matrix."""
    line = ["cg", f"--generate=27pt:{side}", f"--format={format_}", f"--tol={TOLERANCE}"]
    done = solve.result_of(line, RANKS, None, LIMIT)
    wanted = ("iterations", "seconds_per_iteration", "setup_seconds", "relative_residual", "rows", "entries")
    return {name: done[name] for name in wanted}


def peer(build: Path, name: str, side: int) -> Run:
    """A solver of bench/solvers."""
    program = build / "bin" / f"ompl_solve_{name}"
    if not program.is_file():
        raise peers.MissingError(f"{program} is not built: make setup-figures, then make")
    launch = examples.launch(build, PEER_MPI, RANKS)
    found: Run = json.loads(_run(launch.line(RANKS, program, [side, TOLERANCE]), launch.environment()))
    return found


def bandwidth(build: Path) -> Run:
    """Bytes per second that as many cores as ranks read together."""
    return {"bytes_per_second": float(_run([str(build / "bin" / "ompl_bandwidth"), str(RANKS), str(BANDWIDTH_MIB)]))}


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        raise OSError(f"{Path(command[0]).name} ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def compared(found: dict[str, list[Run]], failed: dict[str, str], side: int) -> list[Target]:
    """Of each format: an iteration of each peer's and of the floor, the set-up of PETSc's; and that all took as many
    iterations."""
    where = f"27-point {side}^3, {RANKS} ranks"
    counts = {name: {one["iterations"] for one in runs} for name, runs in found.items() if name != "bandwidth" and runs}
    known = sorted(set().union(*counts.values()))
    same = Target(
        f"CG, {where}: numbers of iterations that the solvers take", len(known) or None, 1, True,
        note=f"{', '.join(map(str, known))}: {', '.join(counts)}",
    )  # fmt: skip

    def over(name: str, mine: str, other: str, bound: float, value: Callable[[Run, str], float]) -> Target:
        if why := failed.get(mine) or failed.get(other):
            return missing(name, bound, True, why)
        first, second = ([value(run, one) for run in found[one]] for one in (mine, other))
        return interval(name, first, second, bound, True)

    made = [same]
    for format_, bound in OF_PEERS.items():
        for name, title in PEERS.items():
            made.append(
                over(f"CG per iteration, {where}, {format_.upper()}, of {title}", format_, name, bound, _iteration)
            )
        if found[format_]:
            some = found[format_][0]
            bytes_ = OF_ENTRY[format_] * some["entries"] + OF_ROW[format_] * some["rows"]
        else:
            bytes_ = 0

        def floor(run: Run, one: str, bytes_: float = bytes_) -> float:
            return bytes_ / float(run["bytes_per_second"]) if one == "bandwidth" else _iteration(run, one)

        title = f"CG per iteration, {where}, {format_.upper()}, of the time to read its bytes"
        made.append(over(title, format_, "bandwidth", OF_FLOOR, floor))
        title = f"CG set-up, {where}, {format_.upper()}, of {PEERS['petsc']}"
        made.append(over(title, format_, "petsc", OF_SET_UP, lambda run, _: float(run["setup_seconds"])))
    return made


def _iteration(run: Run, _: str) -> float:
    return float(run["seconds_per_iteration"])

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of CG: an iteration and the set-up beside PETSc and hypre, and an iteration beside what its bytes take,
all in the same rounds."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import catalog
from omnipgas_tools.model import examples
from omnipgas_tools.solver import jobs
from omnipgas_tools.targets.measurement import FAILURES, ROUNDS, Bench, Measurement, output
from omnipgas_tools.targets.target import Target, at_most

SIDE = 100  # of the cube; its oracle: docs/how-to/solver.md
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


def rounds(side: int = SIDE, count: int = ROUNDS) -> Measurement:
    """Each round takes every solver and the bandwidth once, in shuffled order."""

    def measure(bench: Bench, _: Sequence[Target]) -> list[Target]:
        contenders: dict[str, Callable[[], Run]] = {format_: partial(ours, side, format_) for format_ in OF_PEERS}
        contenders |= {name: partial(peer, bench.build, name, side) for name in PEERS}
        contenders["bandwidth"] = partial(bandwidth, bench.build)
        found: dict[str, list[Run]] = {name: [] for name in contenders}
        failed: dict[str, str] = {}
        order = random.Random(1)
        bench.progress.plan(count)
        for number in range(count):
            for name in order.sample(sorted(contenders), len(contenders)):
                if name in failed:
                    continue
                bench.progress.at(f"round {number + 1}: {name}")
                try:
                    found[name].append(contenders[name]())
                except FAILURES as error:
                    failed[name] = str(error)
            bench.progress.done()
        bench.rows.append({"bench": "cg", "side": side, "ranks": RANKS, "runs": found, "failed": failed})
        return compared(found, failed, side)

    return Measurement(measure, *compared({}, dict.fromkeys(OF_PEERS, "was not measured"), side))


def ours(side: int, format_: str) -> Run:
    """omni cg with that format of the matrix."""
    line = ["cg", f"--generate=27pt:{side}", f"--format={format_}", f"--tol={TOLERANCE}"]
    done = jobs.result_of(line, RANKS, None, LIMIT)
    wanted = ("iterations", "seconds_per_iteration", "setup_seconds", "relative_residual", "rows", "entries")
    return {name: done[name] for name in wanted}


def peer(build: Path, name: str, side: int) -> Run:
    """A solver of bench/solvers."""
    program = build / "bin" / f"ompl_solve_{name}"
    if not program.is_file():
        raise catalog.MissingError(f"{program} is not built: make setup-figures, then make")
    launch = examples.launch(build, PEER_MPI, RANKS)
    found: Run = json.loads(output(launch.line(RANKS, program, [side, TOLERANCE]), LIMIT, launch.environment()))
    return found


def bandwidth(build: Path) -> Run:
    """Bytes per second that as many cores as ranks read together."""
    return {"bytes_per_second": float(output([build / "bin/ompl_bandwidth", RANKS, BANDWIDTH_MIB], LIMIT))}


def compared(found: Mapping[str, list[Run]], failed: Mapping[str, str], side: int) -> list[Target]:
    """Of each format: an iteration of each peer's and of the floor, the set-up of PETSc's; and that all took as many
    iterations."""
    where = f"27-point {side}^3, {RANKS} ranks"
    counts = {name: {one["iterations"] for one in runs} for name, runs in found.items() if name != "bandwidth" and runs}
    known = sorted(set().union(*counts.values()))
    same = at_most(f"CG, {where}: numbers of iterations that the solvers take", 1)
    made = [replace(same, value=len(known) or None, note=f"{', '.join(map(str, known))}: {', '.join(counts)}")]

    def over(target: Target, mine: str, other: str, value: Callable[[Run], float]) -> Target:
        if why := failed.get(mine) or failed.get(other):
            return target.missing(why)
        first, second = ([value(run) for run in found.get(one, ())] for one in (mine, other))
        return target.ratio(first, second)

    for format_, bound in OF_PEERS.items():
        start = f"CG per iteration, {where}, {format_.upper()}, of"
        made += [over(at_most(f"{start} {title}", bound), format_, name, _iteration) for name, title in PEERS.items()]
        some = next(iter(found.get(format_, ())), {"entries": 0, "rows": 0})
        bytes_ = OF_ENTRY[format_] * some["entries"] + OF_ROW[format_] * some["rows"]

        def floor(run: Run, bytes_: float = bytes_) -> float:
            return bytes_ / float(run["bytes_per_second"]) if "bytes_per_second" in run else _iteration(run)

        made.append(over(at_most(f"{start} the time to read its bytes", OF_FLOOR), format_, "bandwidth", floor))
        set_up = at_most(f"CG set-up, {where}, {format_.upper()}, of {PEERS['petsc']}", OF_SET_UP)
        made.append(over(set_up, format_, "petsc", lambda run: float(run["setup_seconds"])))
    return made


def _iteration(run: Run) -> float:
    return float(run["seconds_per_iteration"])

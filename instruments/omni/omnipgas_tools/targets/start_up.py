# SPDX-License-Identifier: BSD-3-Clause
"""The start of many ranks on one node (init, barrier, finalize): how its processor time grows with their number."""

import math
import resource
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from omnipgas_tools.targets.measurement import Bench, Measurement, output
from omnipgas_tools.targets.target import Target, at_most

RANKS = (24, 48, 96, 192, 384)
STARTS = 3  # of each job; the least counts: whatever else runs on the machine only adds
LIMIT_S = 300.0
SHELL = 'ulimit -n 1024 && exec "$@"'  # as many descriptors as users mostly have


def cost(build: Path, ranks: int) -> float:
    """Seconds of processor time of all processes of a job."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(["sh", "-c", SHELL, "sh", build / "bin/omplrun", "-n", ranks, build / "bin/ompl_bench_hello"], LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def exponent(cost_of: dict[int, float]) -> float:
    """Of the power of the number of ranks that fits best."""
    logarithms = [(math.log(ranks), math.log(seconds)) for ranks, seconds in cost_of.items()]
    return statistics.linear_regression(*zip(*logarithms, strict=True)).slope


def start_up(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Jobs of each size take turns."""
    processor: dict[int, float] = {}
    for _ in range(STARTS):
        for ranks in RANKS:
            used = cost(bench.build, ranks)
            processor[ranks] = min(used, processor.get(ranks, used))
    yield targets[0].found(exponent(processor), ", ".join(f"{processor[ranks]:.3g}" for ranks in RANKS) + " s")


def measurement() -> Measurement:
    """The group."""
    sizes = ", ".join(map(str, RANKS))
    return Measurement(
        start_up, at_most(f"processor time of a start of {sizes} ranks on a node, exponent of their number", 1.3)
    )

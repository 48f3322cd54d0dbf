# SPDX-License-Identifier: BSD-3-Clause
"""Targets of put + flag and of its rate over shared memory, beside the baseline and each MPI."""

import statistics
from collections.abc import Iterator

from omnipgas_tools.measure.runner import Cell, Outcome
from omnipgas_tools.targets.measurement import Contenders, Judge, Key, Measurement, Ratio, RatioToBest, cells
from omnipgas_tools.targets.target import Target, at_least, at_most

MPIS = ("mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian")
SMALL = (8, 64, 512, 4096)
LARGE = (65536, 262144, 1048576, 4194304)
PAIR = ("raw", "ompl")
PUTS = Contenders(PAIR, ("put",))
EVEN = 3.0  # the slowest thread may take so many times as long as the fastest, or 1.3 times the baseline's


def of_baseline(op: str, threads: int, size: int) -> Ratio:
    """This layer beside the same pattern written by hand."""
    return Ratio(("ompl", op, threads, size), ("raw", op, threads, size))


def one_thread() -> Iterator[Measurement]:
    """Put + flag, one thread."""
    for sizes, bound in ((SMALL, 1.2), (LARGE, 1.1)):
        judged: dict[Target, Judge] = {
            at_most(f"put+flag, shm, 1 thread, {size} B, of the baseline", bound): of_baseline("put", 1, size)
            for size in sizes
        }
        yield cells("pingpong", [PUTS], (1,), sizes, judged)


def many_threads() -> Iterator[Measurement]:
    """Put + flag, more threads than cores, beside the baseline, the best MPI and each other."""
    contenders = [PUTS, Contenders(MPIS, ("sendrecv", "put"))]
    for threads in (2, 4, 8):
        judged: dict[Target, Judge] = {}
        for size in SMALL:
            where = f"put+flag, shm, {threads} threads, {size} B"
            judged[at_most(f"{where}, of the baseline", 1.3)] = of_baseline("put", threads, size)
            for op, bound in (("sendrecv", 0.5), ("put", 1.0)):
                mpis: list[Key] = [(mpi, op, threads, size) for mpi in MPIS]
                best = RatioToBest(("ompl", "put", threads, size), mpis, "{library}")
                judged[at_most(f"{where}, of the best MPI {op}", bound)] = best
            judged[at_most(f"{where}, slowest thread of the fastest", EVEN, "x")] = Spread(threads, size)
        yield cells("pingpong", contenders, (threads,), SMALL, judged)


class Spread:
    """The slowest thread over the fastest one. Where the baseline's threads differ more, they move the bound."""

    def __init__(self, threads: int, size: int) -> None:
        self.keys: list[Key] = [(library, "put", threads, size) for library in ("ompl", "raw")]

    def __call__(self, outcome: Outcome, target: Target) -> Target:
        both = [cell for key in self.keys if (cell := outcome.cell(*key)) and cell.rounds]
        if len(both) < 2:
            return target.missing("was not measured")
        mine, baseline = (
            statistics.median(r.slowest_us / r.fastest_us for r in cell.rounds if r.fastest_us > 0) for cell in both
        )
        bound = max(EVEN, 1.3 * baseline)
        return at_most(target.name, bound, target.unit).found(mine, f"baseline {baseline:.2f}")


def growth(outcome: Outcome, target: Target) -> Target:
    """The rate of two threads over that of one, of the baseline's."""

    def rates(library: str, threads: int) -> list[float]:
        cell: Cell | None = outcome.cell(library, "put", threads, 8)
        return cell.values() if cell else []

    mine, baseline = (
        [two / one for one, two in zip(rates(library, 1), rates(library, 2), strict=False)]
        for library in ("ompl", "raw")
    )
    return target.ratio(mine, baseline)


def rate() -> Iterator[Measurement]:
    """Messages per second at a sleeping target."""
    where = "rate at a sleeping target"
    judged: dict[Target, Judge] = {
        at_least(f"{where}, 8 B put + flag, 1 thread, of the baseline", 0.8): of_baseline("put", 1, 8),
        at_least(f"{where}, growth from 1 to 2 threads, of the baseline's", 0.9): growth,
        at_least("rate of 8 B puts alone, 1 thread, of the checked baseline", 0.5): of_baseline("putonly", 1, 8),
    }
    yield cells("rate", [Contenders(PAIR, ("put", "putonly"))], (1, 2), (8,), judged)

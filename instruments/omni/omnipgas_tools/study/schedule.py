# SPDX-License-Identifier: BSD-3-Clause
"""The schedule of a solver's iterations, in GOAL, for the replay under LogGPS: what each rank computes, sends and waits
for, by each strategy of halo exchange.

As in the solver: a rank multiplies its own columns while the halo is on its way, those of others behind it. Puts and
messages of MPI are started alike and go on in the background; MPI's receives are posted first, flags are looked at once
the rank's own columns are done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from omnipgas_tools.halo.pattern import Pattern

FLAG, SUM = 4, 8  # bytes of a flag alone; of what a reduction passes on
DATA, READY, REDUCE = range(3)  # tags
# Bytes that CG moves per row between its two sums, of all its vector operations (instruments/solver/cg/vectors.hpp).
BEFORE_SUM = 24 / 64


@dataclass(frozen=True)
class Compute:
    """Nanoseconds of a rank's computation."""

    entry: float  # of a product, for each entry
    row: float  # of the vector operations of an iteration of CG, for each row


@dataclass(frozen=True)
class Part:
    """What a rank computes."""

    rows: int
    entries: int
    cut: int  # entries whose column is another rank's


Neighbors = Sequence[tuple[int, int, int]]  # rank, bytes that go there, bytes that come


@dataclass
class Rank:
    """The operations of a rank so far, each behind the one before unless it is posted."""

    lines: list[str] = field(default_factory=list)
    last: str = ""
    posted: list[str] = field(default_factory=list)
    count: int = 0

    def then(self, operation: str) -> None:
        """Called when the one before it is done; blocking."""
        self.last = self._add(operation, [self.last] if self.last else [])

    def post(self, operation: str) -> None:
        """Goes on in the background."""
        self.posted.append(self._add(operation, [self.last] if self.last else []))

    def wait(self) -> None:
        """For all that was posted."""
        self.last = self._add("calc 0", [self.last, *self.posted] if self.last else self.posted)
        self.posted = []

    def compute(self, nanoseconds: float) -> None:
        """Works for so long."""
        self.then(f"calc {round(nanoseconds)}")

    def _add(self, operation: str, behind: Sequence[str]) -> str:
        label = f"o{self.count}"
        self.count += 1
        self.lines.append(f"{label}: {operation}")
        self.lines += [f"{label} requires {one}" for one in behind]
        return label


def double_buffer(rank: Rank, neighbors: Neighbors, work: Callable[[], None], _reset: float) -> None:
    """A message to each neighbour, empty where there are no data; no synchronisation, nothing to reset."""
    for other, out, _ in neighbors:
        rank.post(f"send {max(out, FLAG)}b to {other} tag {DATA}")
    work()
    for other, _, into in neighbors:
        rank.post(f"recv {max(into, FLAG)}b from {other} tag {DATA}")
    rank.wait()


def single(rank: Rank, neighbors: Neighbors, work: Callable[[], None], reset: float) -> None:
    """Marks are reset, and whoever sends is told so; data go once their receiver is ready."""
    senders = [other for other, _, into in neighbors if into]
    rank.compute(reset * len(senders))
    for other in senders:
        rank.post(f"send {FLAG}b to {other} tag {READY}")
    for other, out, _ in neighbors:
        if out:
            rank.then(f"recv {FLAG}b from {other} tag {READY}")
            rank.post(f"send {out}b to {other} tag {DATA}")
    work()
    for other, _, into in neighbors:
        if into:
            rank.post(f"recv {into}b from {other} tag {DATA}")
    rank.wait()


def mpi(rank: Rank, neighbors: Neighbors, work: Callable[[], None], _reset: float) -> None:
    """MPI_Irecv, MPI_Isend, MPI_Waitall."""
    for other, _, into in neighbors:
        if into:
            rank.post(f"recv {into}b from {other} tag {DATA}")
    for other, out, _ in neighbors:
        if out:
            rank.post(f"send {out}b to {other} tag {DATA}")
    work()
    rank.wait()


EXCHANGES = {"double-buffer": double_buffer, "single": single, "mpi": mpi}


def reduce(rank: Rank, number: int, ranks: int) -> None:
    """A sum over all by recursive doubling; ranks above a power of two give to one below, and hear of it."""
    paired = 1 << (ranks.bit_length() - 1)
    partner = number ^ paired if number >= paired or number + paired < ranks else None
    if number >= paired:
        rank.then(f"send {SUM}b to {partner} tag {REDUCE}")
        rank.then(f"recv {SUM}b from {partner} tag {REDUCE}")
        return
    if partner is not None:
        rank.then(f"recv {SUM}b from {partner} tag {REDUCE}")
    distance = 1
    while distance < paired:
        rank.then(f"send {SUM}b to {number ^ distance} tag {REDUCE}")
        rank.then(f"recv {SUM}b from {number ^ distance} tag {REDUCE}")
        distance *= 2
    if partner is not None:
        rank.then(f"send {SUM}b to {partner} tag {REDUCE}")


def goal(
    pattern: Pattern, parts: Sequence[Part], strategy: str, work: str, compute: Compute, reset: float, iterations: int
) -> str:
    """So many iterations of `work` (plan.WORKS), each rank with its part; reset: nanoseconds for each mark."""
    text = [f"num_ranks {pattern.ranks}"]
    for number, part in enumerate(parts):
        rank = Rank()

        def own(rank: Rank = rank, part: Part = part) -> None:
            rank.compute((part.entries - part.cut) * compute.entry)

        for _ in range(iterations):
            EXCHANGES[strategy](rank, pattern.neighbors[number], own, reset)
            rank.compute(part.cut * compute.entry)
            if work != "spmv":
                reduce(rank, number, pattern.ranks)
            if work == "cg":
                rank.compute(part.rows * compute.row * BEFORE_SUM)
                reduce(rank, number, pattern.ranks)
                rank.compute(part.rows * compute.row * (1 - BEFORE_SUM))
        text += [f"rank {number} {{", *rank.lines, "}"]
    return "\n".join(text) + "\n"

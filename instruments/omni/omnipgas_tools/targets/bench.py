# SPDX-License-Identifier: BSD-3-Clause
"""What groups of figures are measured with."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import peers
from omnipgas_tools.libraries.peers import MissingError
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.runner import Cell, Contender, Limits, Outcome, Progress, run_interleaved
from omnipgas_tools.targets.target import Target, interval, missing

Group = dict[str, object]  # of the result file
ROUNDS = 40


def ratio(name: str, mine: Cell | None, other: Cell | None, bound: float, at_most: bool = True) -> Target:
    """The median over rounds of mine / other."""
    for cell in (mine, other):
        if cell is None or cell.status != "ok":
            return missing(name, bound, at_most, cell.reason if cell else "was not measured")
    assert mine is not None and other is not None
    return interval(name, mine.values(), other.values(), bound, at_most)


def best(cells: Sequence[Cell]) -> Cell | None:
    """The cell of the lowest median latency among those that were measured."""
    good = [c for c in cells if c.status == "ok" and c.rounds]
    return min(good, key=lambda c: statistics.median(c.values()), default=None)


class Bench:
    """Runs the benches of one build and remembers what they found, by group."""

    def __init__(self, build: Path, progress: Progress, given: Sequence[dict[str, Any]] = ()) -> None:
        """`given`: runs that some groups are read from, each as comparison.side() has it."""
        self.build = build
        self.progress = progress
        self.given = list(given)
        self.machine: dict[str, Any] | None = None  # that the group was measured on, if it was given
        self.quick: list[list[Result]] = []  # runs of all libraries
        self.cells: list[Cell] = []  # of the group that is being measured,
        self.rows: list[Result] = []  # and results that are no cells
        self.groups: dict[str, Group] = {}
        self.table = peers.table(build)

    def contenders(self, libraries: Sequence[str], ops: Sequence[str]) -> list[Contender]:
        """Those of the libraries that are installed and have the operation."""
        found = []
        for name in libraries:
            try:
                library = peers.find(self.table[name], self.build)
            except MissingError:
                continue
            found += [Contender(library, op) for op in ops if op in library.peer.ops]
        return found

    def run(
        self,
        bench: str,
        contenders: Sequence[Contender],
        threads: Sequence[int],
        sizes: Sequence[int],
        limits: Limits,
    ) -> Outcome:
        """run_interleaved(), keeping the cells."""
        outcome = run_interleaved(bench, contenders, threads, sizes, limits, progress=self.progress)
        self.cells += outcome.cells
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome


def limits() -> Limits:
    """Rounds enough for a claim."""
    return Limits(rounds=ROUNDS, min_rounds=ROUNDS, tolerance=0.0, seconds=0.02, cell_seconds=60)

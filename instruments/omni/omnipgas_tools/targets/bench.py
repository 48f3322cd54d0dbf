# SPDX-License-Identifier: BSD-3-Clause
"""What groups of targets are measured with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Hosts, MissingError
from omnipgas_tools.measure import network
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.runner import Cell, Contender, Outcome, run_interleaved

Group = dict[str, object]  # of the result file
ROUNDS = 40


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
        self.table = catalog.table(build)

    def contenders(
        self, libraries: Sequence[str], ops: Sequence[str], transports: Sequence[str] = (), hosts: Hosts | None = None
    ) -> list[Contender]:
        """Those of the libraries that are installed, go over a transport, and have the operation."""
        found = []
        for name in libraries:
            try:
                here = network.contenders(catalog.find(self.table[name], self.build), list(transports), hosts)
            except MissingError:
                continue  # its targets say "was not measured"
            found += [Contender(one, op) for one in here for op in ops if op in one.library.ops]
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

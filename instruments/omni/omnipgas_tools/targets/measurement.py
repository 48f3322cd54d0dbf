# SPDX-License-Identifier: BSD-3-Clause
"""How targets are measured.

A target is data: its group, name and bound, and how it is measured. Groups are lists of measurements; targets that one
measurement answers share its runs. `cells()` is the most common kind of measurement: libraries in interleaved rounds
at thread counts and sizes, with ratios of these cells. What only one group needs is a function of the group's module.

`Measurement.answers()` runs any of them. A failure becomes the reason of the targets that have no value yet, so a
measurement only raises and never spells out its targets twice. `in_turn()` and `output()` are the two steps that most
functions share: rounds that take runs in turn, and a program's output.
"""

import os
import statistics
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Hosts, MissingError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.measure import network
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.runner import Cell, Contender, Outcome, run_interleaved
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model.fit.measurements import DataError
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.solver.jobs import SolveError
from omnipgas_tools.targets.target import Target
from omnipgas_tools.tuner.runs import RunError


class NotMeasuredError(Exception):
    """A target has no value here; says why."""


FAILURES = (
    DataError, FailedError, MissingError, ModelError, NotMeasuredError, OSError, RunError, SolveError, ValueError,
    WorkerError, subprocess.SubprocessError,
)  # fmt: skip


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
        self,
        libraries: Sequence[str],
        ops: Sequence[str],
        transports: Sequence[str] = (),
        kind: str = "bench",
        hosts: Hosts | None = None,
    ) -> list[Contender]:
        """Those of the libraries that are installed, go over a transport, and have the operation; of another kind of
        worker than bench all have it."""
        found = []
        for name in libraries:
            try:
                here = network.contenders(catalog.find(self.table[name], self.build, kind), list(transports), hosts)
            except MissingError:
                continue  # its targets say "was not measured"
            found += [Contender(one, op) for one in here for op in ops if kind != "bench" or op in one.library.ops]
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


Measure = Callable[[Bench, Sequence[Target]], Iterable[Target]]


class Measurement:
    """What is measured once, for one or more targets."""

    def __init__(self, measure: Measure, *targets: Target) -> None:
        """`measure` gives the targets with their values, in the same order. It raises one of FAILURES, maybe after some
        of them."""
        self.measure, self.targets = measure, targets

    def answers(self, bench: Bench) -> list[Target]:
        """The measured targets; a failure is the reason of those that are left."""
        made: list[Target] = []
        try:
            for target in self.measure(bench, self.targets):
                made.append(target)
        except FAILURES as error:
            made += [target.missing(str(error)) for target in self.targets[len(made) :]]
        return made


# ---- cells

Key = tuple[str, str, int, int]  # of a cell: library, operation, threads, bytes
Judge = Callable[[Outcome, Target], Target]


class Contenders(NamedTuple):
    """Libraries and what they are measured with; those that are not installed are left out."""

    libraries: Sequence[str]
    ops: Sequence[str]
    transports: Sequence[str] = ()
    kind: str = "bench"  # of worker, as catalog.worker_of() has it


def cells(
    name: str, contenders: Sequence[Contenders], threads: Sequence[int], sizes: Sequence[int],
    judged: Mapping[Target, Judge], hosts: bool = False,
) -> Measurement:  # fmt: skip
    """One benchmark of contenders in interleaved rounds. `hosts`: between two hosts that are network namespaces."""

    def measure(bench: Bench, _: Sequence[Target]) -> Iterator[Target]:
        with network.two_hosts() if hosts else nullcontext() as between:
            found = [one for who in contenders for one in bench.contenders(*who, between)]
            outcome = bench.run(name, found, threads, sizes, limits())
        return (judge(outcome, target) for target, judge in judged.items())

    return Measurement(measure, *judged)


@dataclass(frozen=True)
class Ratio:
    """The median over rounds of a cell over another one."""

    mine: Key
    other: Key
    value: Callable[[Cell], Sequence[float]] = Cell.values

    def __call__(self, outcome: Outcome, target: Target) -> Target:
        cells = [outcome.cell(*key) for key in (self.mine, self.other)]
        for cell in cells:
            if cell is None or cell.status != "ok":
                return target.missing(cell.reason if cell else "was not measured")
        mine, other = (self.value(cell) for cell in cells if cell)
        return target.ratio(mine, other)


@dataclass(frozen=True)
class RatioToBest:
    """The same of the best one of several cells; it joins the target's name."""

    mine: Key
    others: Sequence[Key]
    label: str  # with {library} and {op}
    value: Callable[[Cell], Sequence[float]] = Cell.values

    def __call__(self, outcome: Outcome, target: Target) -> Target:
        cells = [cell for key in self.others if (cell := outcome.cell(*key)) and cell.status == "ok" and cell.rounds]
        if not cells:
            return target.missing("was not measured")
        best = (min if target.at_most else max)(cells, key=lambda cell: statistics.median(self.value(cell)))
        library, op = best.contender.key
        named = replace(target, name=f"{target.name} ({self.label.format(library=library, op=op)})")
        return Ratio(self.mine, (library, op, best.threads, best.size), self.value)(outcome, named)


# ---- steps that functions share


def in_turn(rounds: int, runs: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """What the runs give in rounds that take each once, in one order and in the opposite one by turns."""
    values: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs)[:: -1 if number % 2 else 1]:
            values[name].append(runs[name]())
    return values


def output(command: Sequence[Any], limit: float, environment: Mapping[str, str] | None = None, **more: str) -> str:
    """What a program prints. Raises OSError if its status is not 0. `more`: variables beside those of the environment,
    which is this process's if none is given."""
    line = [str(word) for word in command]
    variables = {**(os.environ if environment is None else environment), **more}
    done = subprocess.run(line, env=variables, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-200:]
        raise OSError(f"{Path(line[0]).name} ended with status {done.returncode}: {said}")
    return done.stdout

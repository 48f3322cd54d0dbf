# SPDX-License-Identifier: BSD-3-Clause
"""How targets are measured.

A target is data: its group, name and bound, and how it is measured. Groups are lists of measurements; targets that one
measurement answers share its runs. The kinds of measurement:

- `Cells`: libraries in interleaved rounds at thread counts and sizes; its targets are ratios of these cells.
- `Work` (work.py): instructions, requests and calls that callgrind and a conduit's test network count.
- `Special`: a function of the group's module measures, for what no other group needs.

`Measurement.answers()` runs any of them. A failure becomes the reason of the targets that have no value yet, so a
measurement only raises and never spells out its targets twice. `in_turn()` and `output()` are the two steps that most
functions share: rounds that take runs in turn, and a program's output.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omnipgas_tools.commands.solve import SolveError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.libraries.peers import MissingError
from omnipgas_tools.measure import network
from omnipgas_tools.measure.runner import Cell, Outcome
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model.fit.measurements import DataError
from omnipgas_tools.model.predict import PredictionError
from omnipgas_tools.model.timer import TimerError
from omnipgas_tools.model.tracers import NoTracerError
from omnipgas_tools.targets.bench import Bench, limits
from omnipgas_tools.targets.target import Target
from omnipgas_tools.tuner.runs import RunError


class NotMeasuredError(Exception):
    """A target has no value here; says why."""


FAILURES = (
    DataError, FailedError, MissingError, NoTracerError, NotMeasuredError, OSError, PredictionError, RunError,
    SolveError, TimerError, ValueError, WorkerError, subprocess.SubprocessError,
)  # fmt: skip


class Measurement:
    """What is measured once, for one or more targets."""

    @property
    def targets(self) -> Sequence[Target]:
        """The targets, without values."""
        raise NotImplementedError

    def measure(self, bench: Bench) -> Iterable[Target]:
        """The targets with their values, in the same order. Raises one of FAILURES, maybe after some of them."""
        raise NotImplementedError

    def answers(self, bench: Bench) -> list[Target]:
        """measure(); a failure is the reason of the targets that are left."""
        made: list[Target] = []
        try:
            for target in self.measure(bench):
                made.append(target)
        except FAILURES as error:
            made += [target.missing(str(error)) for target in self.targets[len(made) :]]
        return made


class Special(Measurement):
    """A function measures."""

    def __init__(self, function: Callable[[Bench, Sequence[Target]], Iterable[Target]], *targets: Target) -> None:
        self._function, self._targets = function, targets

    @property
    def targets(self) -> Sequence[Target]:
        return self._targets

    def measure(self, bench: Bench) -> Iterable[Target]:
        return self._function(bench, self._targets)


# ---- cells

Key = tuple[str, str, int, int]  # of a cell: library, operation, threads, bytes
Judge = Callable[[Outcome, Target], Target]


@dataclass(frozen=True)
class Contenders:
    """Libraries and what they are measured with; those that are not installed are left out."""

    libraries: Sequence[str]
    ops: Sequence[str]
    transports: Sequence[str] = ()


@dataclass(frozen=True)
class Cells(Measurement):
    """One benchmark of contenders in interleaved rounds."""

    bench: str
    contenders: Sequence[Contenders]
    threads: Sequence[int]
    sizes: Sequence[int]
    judged: Mapping[Target, Judge]
    hosts: bool = False  # between two hosts that are network namespaces

    @property
    def targets(self) -> Sequence[Target]:
        return list(self.judged)

    def measure(self, bench: Bench) -> Iterable[Target]:
        with network.two_hosts() if self.hosts else nullcontext() as hosts:
            found = [
                one
                for who in self.contenders
                for one in bench.contenders(who.libraries, who.ops, who.transports, hosts)
            ]
            outcome = bench.run(self.bench, found, self.threads, self.sizes, limits())
        return [judge(outcome, target) for target, judge in self.judged.items()]


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
        best = (min if target.at_most else max)(cells, key=lambda cell: statistics.median(cell.values()))
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

# SPDX-License-Identifier: BSD-3-Clause
"""Measures nonblocking collectives with computation between start and wait (bench/overlap), in rounds.

A round starts the job of each series once, in shuffled order, and measures all cells in it: the contenders are the
series, and within a job its cells (measure/rounds.py). Jobs are never there at once: a
progress thread spins also while its process has nothing to do. What a job of a round has found is kept in a journal, so
that an interrupted study goes on where it was.
"""

import contextlib
import json
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omnipgas_tools import files
from omnipgas_tools.measure.jobs import how_started
from omnipgas_tools.measure.rounds import OK, SKIPPED, Crew, Entry, Limits, Progress, Rounds
from omnipgas_tools.measure.worker import Message, Worker, WorkerError
from omnipgas_tools.overlap.plan import MODES, NONE, PAPER, Cell, PlanError, Series

CHECKED = 3  # collectives whose results are compared byte by byte before each block
PILOT = 3  # iterations
FEWEST = 5  # iterations of a block

Key = tuple[str, int, str, str]


class JournalError(Exception):
    """A file that this study cannot go on with; says why."""


@dataclass
class Sample:
    """What one job found in one cell: means over iterations and ranks, microseconds."""

    elements: int
    pure_us: float
    init_us: float
    compute_us: float
    wait_us: float
    overall_us: float
    cores_charged: float  # processor time of a process over the time, from start to the end of wait, it was used in
    pure: list[tuple[int, int]]  # histograms over iterations and ranks: bench/harness/histogram.hpp
    overall: list[tuple[int, int]]


@dataclass
class Record:
    """What one job found."""

    key: Key
    round: int
    version: str = ""
    transport: str = ""
    started: dict[str, Any] = field(default_factory=dict)
    samples: list[tuple[Cell, Sample]] = field(default_factory=list)
    failed: list[tuple[Cell, str, str]] = field(default_factory=list)  # status and reason
    # Microseconds of the computation with nothing to communicate, by kernel, elements and threads; of mode none.
    alone: list[tuple[str, int, int, float]] = field(default_factory=list)


@dataclass
class Outcome:
    """Everything that was measured."""

    series: list[Series]
    cells: list[Cell]
    records: list[Record] = field(default_factory=list)
    interrupted: bool = False

    def of(self, key: Key) -> list[Record]:
        """The records of a series, by round."""
        return sorted((one for one in self.records if one.key == key), key=lambda one: one.round)

    def samples(self, key: Key, cell: Cell) -> dict[int, Sample]:
        """By round."""
        return {one.round: sample for one in self.of(key) for where, sample in one.samples if where == cell}

    def alone(self, key: Key, kernel: str, elements: int, threads: int) -> dict[int, float]:
        """Of the computation alone, by round."""
        wanted = [kernel, elements, threads]
        return {one.round: us for one in self.of(key) for *what, us in one.alone if what == wanted}

    def failure(self, key: Key, cell: Cell) -> tuple[str, str] | None:
        """Status and reason, if the cell failed."""
        found = (what for one in self.of(key) for where, *what in one.failed if where == cell)
        return next(((status, reason) for status, reason in found), None)


class Journal:
    """One line of JSON for the study, then one for each job that was finished."""

    def __init__(self, path: Path | None, study: dict[str, Any]) -> None:
        """Raises JournalError if the file is of another study."""
        self.path = path
        self.records: list[Record] = []
        if path is None:
            return
        try:
            text = files.read(path) if path.exists() else ""
        except (OSError, ValueError) as error:
            raise JournalError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        # The last line is torn if its writer was killed.
        lines = text[: text.rfind("\n") + 1].splitlines()
        if lines:
            self._read(lines, study)
        files.write(path, "".join(f"{line}\n" for line in lines) or json.dumps(study) + "\n")

    def _read(self, lines: list[str], study: dict[str, Any]) -> None:
        try:
            first, *rest = map(json.loads, lines)
            differs = [name for name in study if first.get(name) != study[name]]
            self.records = [_record(one) for one in rest] if not differs else []
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise JournalError(f"{self.path} is no journal of omni overlap: {error}") from error
        if differs:
            raise JournalError(
                f"{self.path} is of another study ({', '.join(differs)} differ): name a new file, or ask for the same"
            )

    def append(self, record: Record) -> None:
        """Keeps what a job found."""
        self.records.append(record)
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(record)) + "\n")


def _record(line: dict[str, Any]) -> Record:
    """As asdict() left it."""
    name, ranks, mode, algorithm = line["key"]
    return Record(
        **line | {
            "key": (name, ranks, mode, algorithm),
            "samples": [(Cell(**cell), Sample(**sample)) for cell, sample in line["samples"]],
            "failed": [(Cell(**cell), status, reason) for cell, status, reason in line["failed"]],
            "alone": [tuple(one) for one in line["alone"]],
        }
    )  # fmt: skip


def measure(
    series: Sequence[Series], cells: Sequence[Cell], limits: Limits, seed: int, progress: Progress, journal: Journal
) -> Outcome:
    """`cells` are those of all series together; Ctrl-C ends it early with what was measured so far."""
    outcome = Outcome(list(series), sorted(cells), journal.records)
    turns = [_Turn(one, rounds=outcome.of(one.key)) for one in series]

    def job(turn: _Turn, index: int) -> Record:
        record = _Job(turn.series, Record(turn.series.key, index), outcome, limits).run(progress)
        journal.append(record)
        progress.done()
        return record

    def arrange(index: int, turns: list[_Turn]) -> None:
        """The same when an interrupted study goes on. In the first round mode none says how much the others compute."""
        random.Random(f"{seed} {index}").shuffle(turns)
        if index == 0:
            turns.sort(key=lambda turn: turn.series.mode != NONE)

    progress.plan(sum(max(0, limits.rounds - len(turn.rounds)) for turn in turns))
    try:
        Rounds(turns, job, limits, arrange).run()
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


@dataclass
class _Turn(Entry[Record]):
    """The jobs of a series, one a round."""

    series: Series


@dataclass
class _Point(Entry[None]):
    """A cell in the job of a series. All of these are of one kind."""

    cell: Cell
    kind = ""


class _Job:
    """The processes of a series in a round, and what is asked of them."""

    worker: Worker  # the last that was started

    def __init__(self, series: Series, record: Record, outcome: Outcome, limits: Limits) -> None:
        self.series, self.record, self.outcome, self.limits = series, record, outcome, limits
        offered = series.offered(outcome.cells)
        self.points = [_Point(cell) for cell in offered if outcome.failure(series.key, cell) is None]

    def run(self, progress: Progress) -> Record:
        """All cells in one job, and in another what is left after a failure."""
        name, ranks, mode, algorithm = self.series.key
        where = f"round {self.record.round + 1}: {name} {mode} {algorithm}, {ranks} ranks"
        with Crew[_Point, Worker, None](self.start, self.measure, in_a_row=False) as crew:
            for point in self.points:
                progress.at(f"{where}, {point.cell.collective} {point.cell.size} B")
                crew.turn(point, self.record.round)
        self.record.failed = [(one.cell, one.status, one.reason) for one in self.points if one.status != OK]
        return self.record

    def start(self, point: _Point) -> Worker:
        """With room for what is left."""
        largest = max(one.cell.size for one in self.points[self.points.index(point) :])
        self.worker = Worker(self.series.found, self.series.layout.t_process(self.series.mode), largest)
        self.record.version, self.record.transport = (self.worker.hello[0][key] for key in ("version", "transport"))
        self.record.started = how_started(self.worker)
        return self.worker

    def measure(self, _worker: Worker, point: _Point, _index: int) -> None:
        """Measures a cell and what it is compared with."""
        cell, record = point.cell, self.record
        elements = self.elements(cell)
        if elements is None:
            _, why = self.outcome.failure(self.series.base, cell) or ("", "not measured")
            raise WorkerError(SKIPPED, f"its computation is that of mode none: {why}")
        record.samples.append((cell, self.sample(cell, elements)))
        if self.series.mode != NONE:
            return
        known = {tuple(what) for *what, _ in record.alone}
        for mode in MODES:
            with contextlib.suppress(PlanError):
                what = (cell.kernel, elements, self.series.layout.t_calc(mode))
                if what not in known:
                    known.add(what)
                    record.alone.append((*what, self.alone(cell, elements, mode)))

    def elements(self, cell: Cell) -> int | None:
        """Of a process; None if mode none should have said and has not."""
        if cell.computation == PAPER:
            return self.series.layout.elements(cell.size)
        if before := self.outcome.samples(self.series.base, cell):
            return next(iter(before.values())).elements
        return self.calibrated(cell) if self.series.mode == NONE else None

    def ask(self, what: str, cell: Cell, iterations: int, more: Sequence[Message] = ()) -> list[Message]:
        return self.worker.all_ranks(what, cell.collective, self.limits.timeout, iterations, more, cell.size)

    def create(self, cell: Cell, elements: int) -> None:
        self.ask("create", cell, 1, self.told(cell, elements, self.series.mode))

    def told(self, cell: Cell, elements: int, mode: str) -> list[Message]:
        """What each rank computes in that mode, and where."""
        layout = self.series.layout
        return [
            {"kernel": cell.kernel, "elements": elements if rank in layout.computing else 1} | layout.places(mode, rank)
            for rank in range(layout.ranks)
        ]

    def block(self, what: str, cell: Cell) -> tuple[list[Message], int]:
        """The reports, by ranks that compute, of a block about as long as a block shall be, and its iterations."""
        late = [{"skew": cell.skew_us * 1e-6}] * self.series.layout.ranks
        pilot = self.ask(what, cell, PILOT, late)
        expected = max(one["overall"] for one in pilot) / PILOT + cell.skew_us * 1e-6
        count = self.limits.fitting(expected, FEWEST)
        reports = self.ask(what, cell, count, late)
        return [reports[rank] for rank in self.series.layout.computing], count

    def sample(self, cell: Cell, elements: int) -> Sample:
        """One round of a cell, its results checked first."""
        self.create(cell, elements)
        if any(one["verified"] != CHECKED for one in self.ask("verify", cell, CHECKED)):
            raise WorkerError("corrupt", f"{cell.collective}: not all results were checked")
        pure, times = self.block("pure", cell)
        both, count = self.block("overlap", cell)
        processor, charged = (sum(one[name] for one in both) for name in ("processor", "charged"))
        return Sample(
            elements=elements,
            pure_us=_mean_us(pure, "overall", times),
            init_us=_mean_us(both, "init", count),
            compute_us=_mean_us(both, "compute", count),
            wait_us=_mean_us(both, "wait", count),
            overall_us=_mean_us(both, "overall", count),
            cores_charged=processor / charged,
            pure=_merged(pure),
            overall=_merged(both),
        )

    def alone(self, cell: Cell, elements: int, mode: str) -> float:
        """Microseconds of the computation as mode `mode` places it, with nothing to communicate."""
        told = self.told(cell, elements, mode)
        computing = self.series.layout.computing

        def mean_us(count: int) -> float:
            reports = self.ask("alone", cell, count, told)
            return _mean_us([reports[rank] for rank in computing], "compute", count)

        return mean_us(self.limits.fitting(mean_us(PILOT) / 1e6, FEWEST))

    def calibrated(self, cell: Cell) -> int:
        """Elements whose computation takes the cell's multiple of the pure time."""
        layout = self.series.layout
        trial = layout.elements(0)
        self.create(cell, trial)
        pure, count = self.block("pure", cell)
        wanted = float(cell.computation) * _mean_us(pure, "overall", count)
        return max(layout.t_calc(NONE), round(trial * wanted / self.alone(cell, trial, NONE)))


def _mean_us(reports: Sequence[Message], name: str, count: int) -> float:
    """Over ranks and iterations."""
    return statistics.fmean(one[name] for one in reports) / count * 1e6


def _merged(reports: Sequence[Message]) -> list[tuple[int, int]]:
    """The histogram of all ranks."""
    counts: Counter[int] = Counter()
    for one in reports:
        counts.update(dict(one["histogram"]))
    return sorted(counts.items())

# SPDX-License-Identifier: BSD-3-Clause
"""Measures nonblocking collectives with computation between start and wait (bench/overlap), in rounds.

A round starts the job of each series once, in shuffled order, and measures all cells in it. Jobs are never there at
once: a progress thread spins also while its process has nothing to do. What a job of a round has found is kept in a
journal, so that an interrupted study goes on where it was.
"""

from __future__ import annotations

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
from omnipgas_tools.measure.runner import FAILURES_TO_GIVE_UP, Limits, Progress, how_started
from omnipgas_tools.measure.worker import END_LIMIT, GRACE, Message, Worker, WorkerError
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
        text = path.read_text() if path.exists() else ""
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
        except (ValueError, KeyError, TypeError, AttributeError) as error:
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
    run = _Run(Outcome(list(series), sorted(cells), journal.records), limits, progress)
    progress.plan(limits.rounds * len(series))
    try:
        for index in range(limits.rounds):
            for one in run.order(index, seed):
                if index not in {record.round for record in run.outcome.of(one.key)}:
                    journal.append(run.job(one, index))
                progress.done()
    except KeyboardInterrupt:
        run.outcome.interrupted = True
    return run.outcome


class _Run:
    def __init__(self, outcome: Outcome, limits: Limits, progress: Progress) -> None:
        self.outcome, self.limits, self.progress = outcome, limits, progress

    def order(self, index: int, seed: int) -> list[Series]:
        """Of a round: the same when an interrupted study goes on. In the first mode none says how much the others
        compute."""
        turns = list(self.outcome.series)
        random.Random(f"{seed} {index}").shuffle(turns)
        return sorted(turns, key=lambda one: one.mode != NONE) if index == 0 else turns

    def job(self, series: Series, index: int) -> Record:
        """All cells of a series in one job, and in another what is left after a failure."""
        record = Record(series.key, index)
        offered = series.offered(self.outcome.cells)
        left = [cell for cell in offered if self.outcome.failure(series.key, cell) is None]
        failures, last = 0, ""
        while left and failures < FAILURES_TO_GIVE_UP:
            try:
                self.visit(series, record, left)
            except WorkerError as failure:
                failures, last = failures + 1, failure.reason
                record.failed.append((left.pop(0), failure.status, last))
        record.failed += [(cell, "skipped", f"not tried, after: {last}") for cell in left]
        return record

    def visit(self, series: Series, record: Record, left: list[Cell]) -> None:
        """Measures the cells that are left, and takes each away once it is done."""
        worker = Worker(series.found, series.layout.t_process(series.mode), max(cell.size for cell in left))
        patience = GRACE  # after an interrupt
        try:
            record.version, record.transport = (worker.hello[0][key] for key in ("version", "transport"))
            record.started = how_started(worker)
            while left:
                name, ranks, mode, algorithm = series.key
                self.progress.at(
                    f"round {record.round + 1}: {name} {mode} {algorithm}, {ranks} ranks,"
                    f" {left[0].collective} {left[0].size} B"
                )
                self.cell(_Job(worker, series, self.limits), record, left[0])
                left.pop(0)
            patience = END_LIMIT
        finally:
            worker.close(patience)

    def cell(self, job: _Job, record: Record, cell: Cell) -> None:
        """Measures one and what it is compared with."""
        elements = self.elements(job, cell)
        if elements is None:
            _, why = self.outcome.failure(job.series.base, cell) or ("", "not measured")
            record.failed.append((cell, "skipped", f"its computation is that of mode none: {why}"))
            return
        record.samples.append((cell, job.sample(cell, elements)))
        if job.series.mode != NONE:
            return
        known = {tuple(what) for *what, _ in record.alone}
        for mode in MODES:
            with contextlib.suppress(PlanError):
                what = (cell.kernel, elements, job.series.layout.t_calc(mode))
                if what not in known:
                    known.add(what)
                    record.alone.append((*what, job.alone(cell, elements, mode)))

    def elements(self, job: _Job, cell: Cell) -> int | None:
        """Of a process; None if mode none should have said and has not."""
        if cell.computation == PAPER:
            return job.series.layout.elements(cell.size)
        if before := self.outcome.samples(job.series.base, cell):
            return next(iter(before.values())).elements
        return job.calibrated(cell) if job.series.mode == NONE else None


class _Job:
    """The processes of a series, and what is asked of them."""

    def __init__(self, worker: Worker, series: Series, limits: Limits) -> None:
        self.worker, self.series, self.limits = worker, series, limits

    def ask(self, what: str, cell: Cell, iterations: int, more: Sequence[Message] = ()) -> list[Message]:
        return self.worker.collective(what, cell.collective, cell.size, self.limits.timeout, iterations, more)

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
        count = min(self.limits.iterations, max(FEWEST, int(self.limits.seconds / expected)))
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
        pilot = _mean_us([self.ask("alone", cell, PILOT, told)[rank] for rank in computing], "compute", PILOT)
        count = min(self.limits.iterations, max(FEWEST, int(self.limits.seconds * 1e6 / pilot)))
        return _mean_us([self.ask("alone", cell, count, told)[rank] for rank in computing], "compute", count)

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

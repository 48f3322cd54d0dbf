# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the fit and of predictions: how near they are to what was measured afterwards."""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from omnipgas_tools import files
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.model import examples, study, timer
from omnipgas_tools.model.fit import eager, machine
from omnipgas_tools.model.fit.curves import medians
from omnipgas_tools.model.fit.equations import LOGGPS
from omnipgas_tools.model.fit.measure import Plan, measure
from omnipgas_tools.model.validate import Comparison, bounds, compare
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, output
from omnipgas_tools.targets.target import Target, at_least, at_most

MPIS = ("mpich", "openmpi", "intel")
FIT_LIMIT = 900  # seconds
FRESH = Plan(rounds=20, launches=4, around=(), seed=2)  # measured once the parameters are fixed
EAGER = 16384  # bytes: set in the library, to be found by the fit
STEP = 2 ** (1 / Plan.per_octave)  # of the grid of lengths
# Of Intel MPI only what its own rendezvous over libfabric is told.
INTEL_EAGER = {"FI_OFI_RXM_BUFFER_SIZE": str(EAGER), "I_MPI_FABRICS": "ofi"}

# Arguments for some tenths of a second with two ranks.
PROGRAMS: dict[str, tuple[str, list[object]]] = {
    "gauss": ("gauss", [1024, 0]),
    "halo": ("halo", [256, 2000]),
    "workers": ("workers", [2000, 20000]),
    "transpose by messages": ("transpose", [512, 100]),
    "transpose by alltoall": ("transpose", [512, 100, "alltoall"]),
    "pipeline": ("pipeline", [200, 4096, 20]),
}
RANKS, RUNS = 2, 9
OTHER_EAGER = 65536  # bytes
RUN_LIMIT = 60.0  # seconds
STUDY = study.Plan(sizes=[256, 512, 1024], ranks=RANKS, runs=RUNS, limit=16383, timeout=RUN_LIMIT)
LARGE = study.Plan(sizes=[256, 512, 1024, 2048, 4096], ranks=16, runs=5, limit=16383, timeout=600.0)


def fit() -> Iterator[Measurement]:
    """Each MPI on one node: intervals, a fresh ping-pong, and S where the library was told to have it."""
    for mpi in MPIS:
        yield Measurement(
            partial(fitted, mpi),
            at_least(f"fit of {mpi}: parameters of LogGPS with an interval", len(LOGGPS.names) + 2),
            at_most(f"fit of {mpi}: predicted ping-pong, median error of a fresh measurement", 5.0, "%"),
            at_most(f"fit of {mpi}: S found, of the limit that was set", STEP, "x"),
        )


def fitted(mpi: str, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """What the fit of an MPI finds."""
    whole, ping_pong, limit = targets
    parameters = json.loads(parameters_of(bench.build, mpi).read_text())["models"]["loggps"]
    known = [one for one in parameters.values() if one["low"] <= one["value"] <= one["high"]]
    lost = [name for name, one in parameters.items() if not one["identified"]]
    yield whole.found(len(known), f"not identified: {', '.join(lost)}" if lost else "")
    yield ping_pong.found(fresh_error(bench.build, mpi, parameters))
    found = limit_found(mpi)
    yield limit.found(max(found / EAGER, EAGER / found), f"{found} bytes")


@lru_cache
def parameters_of(build: Path, mpi: str) -> Path:
    """The file that the fit of an MPI leaves; fixed before anything is predicted."""
    folder = build / "results"
    folder.mkdir(exist_ok=True)
    return _fit(mpi, folder / f"model-{mpi}.json")


def _fit(mpi: str, out: Path, *options: str, env: dict[str, str] | None = None) -> Path:
    line = [sys.executable, "-m", "omnipgas_tools.cli", "model", "fit", "--mpi", mpi, "-o", str(out), *options]
    output(line, FIT_LIMIT, {**os.environ, **(env or {})})
    return out


def fresh_error(build: Path, mpi: str, parameters: dict[str, Any]) -> float:
    """Percent, the median over lengths."""
    library = machine.chosen(catalog.find(catalog.table(build)[mpi], build, "roundtrip"), None, None)
    curves = medians(measure(library, "send", FRESH, Progress()).measurements)
    s, S = (int(parameters[name]["value"]) for name in ("s", "S"))
    values = np.array([parameters[name]["value"] for name in LOGGPS.names])
    predicted = np.array([LOGGPS.predict(values, int(k), s, S, 0) for k in curves.k])
    return float(100 * np.median(np.abs(predicted / curves.base - 1)))


def limit_found(mpi: str) -> int:
    """S where the library was told an eager limit."""
    settings = eager.limit(mpi, EAGER) or INTEL_EAGER
    with tempfile.TemporaryDirectory(prefix="omni-fit-") as folder:
        out = _fit(mpi, Path(folder, "limit.json"), "--quick", "--largest", str(4 * EAGER), env=settings)
        found = json.loads(out.read_text())["operations"]["send"]["lengths"]["no_wait_for_a_receiver_in_the_library"]
    if not found:
        raise NotMeasuredError("no send waited")
    return int(found)


def predictions() -> Iterator[Measurement]:
    """The example programs as they are, and with another eager limit, which is predicted first and measured then."""
    for mpi in MPIS:
        for what, limit in ((mpi, None), (f"{mpi}, S = {OTHER_EAGER}", OTHER_EAGER)):
            title = f"example programs, {RANKS} ranks, {what}"
            yield Measurement(partial(predicted, mpi, limit, title), *bounds(title, [], ""))


def predicted(mpi: str, limit: int | None, title: str, bench: Bench, _: Sequence[Target]) -> list[Target]:
    """Errors of the predictions."""
    if limit and eager.limit(mpi, limit) is None:
        raise NotMeasuredError("this library has no limit to set")
    return bounds(title, list(measured(bench.build, mpi, limit)), "nothing was measured")


@dataclass
class _Job:
    name: str
    line: list[str]
    predicted: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def measured(build: Path, mpi: str, limit: int | None) -> Iterator[tuple[str, Comparison]]:
    """Every program: in each round predicted from a trace without the limit, then run with it. The medians of both."""
    parameters = str(parameters_of(build, mpi))
    launch = examples.launch(build, mpi, RANKS)
    settings = launch.environment((eager.limit(mpi, limit) if limit else None) or {})
    jobs = [
        _Job(name, launch.line(RANKS, examples.program(build, mpi, program), arguments))
        for name, (program, arguments) in PROGRAMS.items()
    ]
    with tempfile.TemporaryDirectory(prefix="omni-predictions-") as folder:
        for number in range(RUNS):
            for job in jobs:
                trace = Path(folder, f"{job.name}-{number}")
                study.trace(job.line, launch.environment(), trace, RUN_LIMIT)
                found = study.predict(trace, parameters, "loggps", 0, {"measured": limit})
                job.predicted.append(found["measured"]["seconds"])
                job.times.append(timer.run(job.line, RUN_LIMIT, settings).asked)
    for job in jobs:
        yield job.name, compare(job.times, statistics.median(job.predicted))


def elimination() -> Iterator[Measurement]:
    """Gaussian elimination in the paper's three variants; with 16 ranks where there are cores for them."""
    for plan in (STUDY, LARGE):
        title = f"gauss, {plan.ranks} ranks, n = {plan.sizes[0]} to {plan.sizes[-1]}"
        yield Measurement(partial(eliminated, plan, title), *study.figures({"rows": []}, title))


def eliminated(plan: study.Plan, title: str, bench: Bench, _: Sequence[Target]) -> list[Target]:
    """Errors of the study."""
    if catalog.cores() < plan.ranks:
        raise NotMeasuredError(f"needs {plan.ranks} cores, {catalog.cores()} here")
    params = {mpi: str(parameters_of(bench.build, mpi)) for mpi in MPIS}
    found = study.run(plan, params, Console(stderr=True, highlight=False, markup=False, emoji=False))
    results = bench.build / "results"
    files.write(results / f"gauss-{plan.ranks}.json", json.dumps(found, indent=1) + "\n")
    files.write(results / f"gauss-{plan.ranks}.md", study.tables(found))
    return study.figures(found, title)

# SPDX-License-Identifier: BSD-3-Clause
"""How far the predicted time of a program is from the measured one."""

import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from omnipgas_tools.model import timer, traces
from omnipgas_tools.model.build_tracers import Tracer
from omnipgas_tools.model.options import replay_options
from omnipgas_tools.model.predict import run as predict
from omnipgas_tools.model.predict import seconds
from omnipgas_tools.model.program import PredictionError
from omnipgas_tools.model.trace import prepare
from omnipgas_tools.targets.target import Target, at_most

MOST_NAMED = 8  # errors beside a median


@dataclass(frozen=True)
class Comparison:
    """Seconds of the slowest rank."""

    runs: list[float]  # in their order
    median: float
    low: float  # first and third quartile
    high: float
    predicted: float

    @property
    def error(self) -> float:
        """Percent; more than 0 if the prediction is too long."""
        return 100 * (self.predicted - self.median) / self.median

    @property
    def within_runs(self) -> bool:
        """Whether the prediction lies between the quartiles."""
        return self.low <= self.predicted <= self.high

    @property
    def allowed(self) -> float:
        """Percent: 10, or the interquartile range of the runs where that is more."""
        return max(10.0, 100 * (self.high - self.low) / self.median)


def compare(runs: list[float], predicted: float) -> Comparison:
    """Of one run the quartiles are the run."""
    low, median, high = statistics.quantiles(runs, method="inclusive") if len(runs) > 1 else runs * 3
    return Comparison(runs, median, low, high, predicted)


def bounds(title: str, compared: list[tuple[str, Comparison]], why: str) -> list[Target]:
    """Their errors against what is asked of them: the median at most 5 %, each at most 10 % or what its runs spread.
    `why`: if there are none."""
    median, worst = at_most(f"{title}, median error", 5.0, "%"), f"{title}, worst error of what is allowed"
    if not compared:
        return [median.missing(why), at_most(worst, 10.0).missing(why)]
    name, last = max(compared, key=lambda one: abs(one[1].error) / one[1].allowed)
    each = ", ".join(f"{name} {one.error:+.1f}" for name, one in compared) if len(compared) <= MOST_NAMED else ""
    return [
        median.found(statistics.median(abs(one.error) for _, one in compared), each),
        at_most(worst, last.allowed, "%").found(abs(last.error), name),
    ]


def fit(tracer: Tracer, out: Path) -> str:
    """Measures the machine under the program's MPI, before anything is predicted."""
    name = tracer.name.removesuffix("-abi")
    command = [sys.executable, "-m", "omnipgas_tools.cli", "model", "fit", "--mpi", name, "--quick", "-o", str(out)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode != 0 or not out.is_file():
        raise PredictionError(f"omni model fit --mpi {name} failed; give its parameters by --params")
    return str(out)


def validated(
    command: list[str], tracer: Tracer, folder: Path, params: str | None, fitted: Path, *,
    model: str, runs: int, timeout: float, sharing: bool = True,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Fits the machine's parameters, into `fitted`, if there are none; runs the program, then once traced, into
    `folder`, and replays that. The result, as to_json() has it, and the parameters. Raises ModelError."""
    prepare(folder)
    params = params or fit(tracer, fitted)
    times = [timer.run(command, timeout) for _ in range(runs)]
    timer.finish(command, tracer.environment(folder), timeout)
    if any(rank.state != "finalized" for rank in traces.summaries(folder)):
        raise PredictionError("the traced program did not come to MPI_Finalize on all ranks")
    prediction = predict(str(folder), params, model, ["--no-sensitivity", *replay_options(sharing)])
    return to_json(command, times, prediction), params


def to_json(command: list[str], times: list[timer.Times], prediction: dict[str, Any]) -> dict[str, Any]:
    """Everything, of the marked part if the program has one."""
    marked = [one.region is not None for one in times]
    if any(marked) != all(marked) or any(marked) != ("region_seconds" in prediction):
        raise PredictionError("MPI_Pcontrol marked a part in some of the runs only: there is nothing to compare")
    predicted = prediction["region_seconds" if any(marked) else "predicted_seconds"]
    found = compare([one.asked for one in times], predicted)
    return {
        "schema": "omnipgas-validation-1",
        "command": command,
        "machine": prediction["machine"],
        "model": prediction["model"],
        "ranks": prediction["ranks"],
        "part": "between MPI_Pcontrol(1) and (0)" if any(marked) else "from MPI_Init to MPI_Finalize",
        "measured": {key: value for key, value in asdict(found).items() if key != "predicted"},
        "predicted_seconds": predicted,
        "error_percent": found.error,
        "within_quartiles": found.within_runs,
        "prediction": prediction,
    }


def remark(result: dict[str, Any]) -> str:
    """What the model does not know of this run; nothing if it knows all."""
    cores = len(os.sched_getaffinity(0))
    if result["ranks"] <= cores:
        return ""
    return f"remark     {result['ranks']} ranks share {cores} cores: the model gives each rank a core of its own"


def show(console: Console, result: dict[str, Any]) -> None:
    """The answer, a line for each part."""
    measured = result["measured"]
    quartiles = f"{seconds(measured['low'])} to {seconds(measured['high'])}"
    within = ", within the quartiles" if result["within_quartiles"] else ""
    for line in (
        f"{' '.join(result['command'])}, {result['part']}",
        f"measured   {seconds(measured['median'])}, {quartiles}, {len(measured['runs'])} runs",
        f"predicted  {seconds(result['predicted_seconds'])}, {result['model']} on {result['machine']}",
        f"error      {result['error_percent']:+.1f} %{within}",
        remark(result),
    ):
        if line:
            console.print(line, markup=False, soft_wrap=True)

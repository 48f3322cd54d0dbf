# SPDX-License-Identifier: BSD-3-Clause
"""omni model validate: runs a program, and says how far its predicted time is from the measured one."""

import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, List, Optional  # noqa: UP035

import typer
from rich.console import Console

from omnipgas_tools.libraries import peers
from omnipgas_tools.model import timer, traces
from omnipgas_tools.model.predict import MODEL, SHARING, PredictionError, seconds, write
from omnipgas_tools.model.predict import run as predict
from omnipgas_tools.model.trace import prepare
from omnipgas_tools.model.tracer import Tracer
from omnipgas_tools.model.tracers import NoTracerError, choose
from omnipgas_tools.targets.target import Target, at_most

PARAMS = typer.Option(
    None, "--params", metavar="FILE", help="Parameters, or cenju4, myrinet, fast-ethernet. [fitted now]"
)
RUNS = typer.Option(5, "--runs", min=1, help="Untraced runs.")
OUT = typer.Option(None, "-o", "--out", metavar="DIR", help="Where the trace stays. [nowhere]")
MPI = typer.Option(None, "--mpi", metavar="NAME", help="The interposer to use. [that of the program's MPI]")
JSON = typer.Option(None, "--json", metavar="FILE", help="The whole result; - for standard output.")
TIMEOUT = typer.Option(600.0, "--timeout", min=0.1, help="Seconds until one run counts as hung.")
COMMAND = typer.Argument(..., metavar="COMMAND...", help="As one would start it: -- mpiexec -n 16 ./app")


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


def validate(
    command: List[str] = COMMAND,  # noqa: UP006
    params: Optional[str] = PARAMS,
    model: str = MODEL,
    runs: int = RUNS,
    out: Optional[Path] = OUT,
    mpi: Optional[str] = MPI,
    json: Optional[str] = JSON,
    timeout: float = TIMEOUT,
    sharing: bool = SHARING,
) -> None:
    """Predicted against measured: omni model validate --params params.json -- mpiexec -n 2 ./app"""
    console = Console(stderr=json == "-", highlight=False)
    try:
        tracer = choose(peers.build_dir(), command, mpi)
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="omni-validate-")))
            folder = out or scratch / "trace"
            prepare(folder)
            parameters = params or fit(tracer, scratch / "params.json")
            times = [timer.run(command, timeout) for _ in range(runs)]
            prediction = trace_and_predict(command, tracer, folder, parameters, model, sharing, timeout)
        result = to_json(command, times, prediction)
        if json:
            write(json, result)
    except (NoTracerError, PredictionError, timer.TimerError, traces.TraceError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    show(console, result)


def fit(tracer: Tracer, out: Path) -> str:
    """Measures the machine under the program's MPI, before anything is predicted."""
    name = tracer.name.removesuffix("-abi")
    command = [sys.executable, "-m", "omnipgas_tools.cli", "model", "fit", "--mpi", name, "--quick", "-o", str(out)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode != 0 or not out.is_file():
        raise PredictionError(f"omni model fit --mpi {name} failed; give its parameters by --params")
    return str(out)


def trace_and_predict(
    command: list[str],
    tracer: Tracer,
    folder: Path,
    params: str,
    model: str,
    sharing: bool,
    limit: float,
) -> dict[str, Any]:
    """One traced run, replayed."""
    timer.finish(command, tracer.environment(folder), limit)
    if any(rank.state != "finalized" for rank in traces.summaries(folder)):
        raise PredictionError("the traced program did not come to MPI_Finalize on all ranks")
    return predict(str(folder), params, model, ["--no-sensitivity", *([] if sharing else ["--no-sharing"])])


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


def show(console: Console, result: dict[str, Any]) -> None:
    """Three lines."""
    measured = result["measured"]
    quartiles = f"{seconds(measured['low'])} to {seconds(measured['high'])}"
    within = ", within the quartiles" if result["within_quartiles"] else ""
    for line in (
        f"{' '.join(result['command'])}, {result['part']}",
        f"measured   {seconds(measured['median'])}, {quartiles}, {len(measured['runs'])} runs",
        f"predicted  {seconds(result['predicted_seconds'])}, {result['model']} on {result['machine']}",
        f"error      {result['error_percent']:+.1f} %{within}",
    ):
        console.print(line, markup=False, soft_wrap=True)

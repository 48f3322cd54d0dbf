# SPDX-License-Identifier: BSD-3-Clause
"""omni model report: a prediction as one page, and as pictures."""

import json
import tempfile
from pathlib import Path
from typing import Any, List, NoReturn, Optional  # noqa: UP035

import typer

from omnipgas_tools.libraries import peers
from omnipgas_tools.model import page, predict, sites, timelines, timer, tracers, validate, whatif
from omnipgas_tools.model.timelines import TimelineError
from omnipgas_tools.model.trace import prepare
from omnipgas_tools.model.traces import TraceError

RECORDS = 2_000_000
MOST_ASKED = 1_000_000  # messages of a trace that is replayed under changes unasked

TRACE = typer.Argument(..., metavar="TRACE", help="Folder of a trace, OTF2 archive, GOAL file, or a pattern.")
WORDS = typer.Argument(..., metavar="TRACE", help="As for predict; or a command, traced first: -- mpiexec -n 16 ./app.")
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="The page: report.html.")
PICTURE = typer.Option(..., "-o", "--out", metavar="FILE", help="Picture: PNG, SVG or PDF by its suffix.")
PLOT = typer.Option(None, "--plot", metavar="DIR", help="Folder for breakdown and timeline as PNG and SVG too.")
MOST = typer.Option(RECORDS, "--records", min=1, help="Intervals and messages drawn at most, of each rank its first.")
WHATIF = typer.Option(None, "--whatif/--no-whatif", help=f"What would help. [up to {MOST_ASKED:,} messages]")


def report(
    words: List[str] = WORDS,  # noqa: UP006
    out: Path = OUT,
    params: Optional[str] = validate.PARAMS,
    model: str = predict.MODEL,
    plot: Optional[Path] = PLOT,
    records: int = MOST,
    what_if: Optional[bool] = WHATIF,
    runs: int = validate.RUNS,
    timeout: float = validate.TIMEOUT,
) -> None:
    """Predicts, and writes a page that shows where the time goes and what would help; of a command all of it: measures
    the machine, runs and traces the program, predicts it, and sets that beside what was measured."""
    validation = None
    if len(words) > 1:
        validation, params = chain(words, out, params, model, runs, timeout)
    elif params is None:
        raise typer.BadParameter("--params is missing: a file, or cenju4, myrinet, fast-ethernet")
    trace = words[0] if validation is None else str(out.with_suffix(".trace"))
    found = run(trace, params, model, records)
    found.validation = validation
    if what_if or (what_if is None and found.prediction["messages"] <= MOST_ASKED):
        found.whatif = helps(trace, params, model)
    try:
        page.write(out, found)
        typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, opens in any browser", err=True)
        if plot:
            from omnipgas_tools.model import pictures

            plot.mkdir(parents=True, exist_ok=True)
            for suffix in ("png", "svg"):
                pictures.breakdown(plot / f"breakdown.{suffix}", found.prediction)
                pictures.timeline(plot / f"timeline.{suffix}", found.prediction, found.timeline)
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}", error)


def timeline(
    trace: str = TRACE,
    out: Path = PICTURE,
    params: str = predict.PARAMS,
    model: str = predict.MODEL,
    records: int = MOST,
) -> None:
    """Predicts, and draws what each rank does and when."""
    from omnipgas_tools.model import pictures

    found = run(trace, params, model, records)
    try:
        pictures.timeline(out, found.prediction, found.timeline)
    except (OSError, ValueError) as error:
        fail(f"{out}: {getattr(error, 'strerror', None) or error}", error)


def chain(
    command: list[str], out: Path, params: str | None, model: str, runs: int, timeout: float
) -> tuple[dict[str, Any], str]:
    """Fits if there are no parameters, runs the program, traces it; what omni model validate says of that, and the
    parameters. Trace and parameters stay beside the page."""
    folder = out.with_suffix(".trace")
    try:
        tracer = tracers.choose(peers.build_dir(), command)
        prepare(folder)
        params = params or validate.fit(tracer, out.with_suffix(".params.json"))
        times = [timer.run(command, timeout) for _ in range(runs)]
        prediction = validate.trace_and_predict(command, tracer, folder, params, model, True, timeout)
        return validate.to_json(command, times, prediction), params
    except (tracers.NoTracerError, TraceError, timer.TimerError, predict.PredictionError) as error:
        fail(str(error), error)


def helps(trace: str, params: str, model: str) -> list[dict[str, Any]]:
    """What omni model whatif answers without a question, the best first."""
    try:
        changes = whatif.likely(whatif.ask(trace, params, model, [], []))
        answer = whatif.compare(whatif.ask(trace, params, model, [], changes), changes)
    except predict.PredictionError as error:
        fail(str(error), error)
    rows = [row for row in answer["changes"] if "saves_seconds" in row]
    matter = [row for row in rows if whatif.matters(row, answer["base"]["time_seconds"])]
    return sorted(matter, key=lambda row: -row["saves_seconds"])


def run(trace: str, params: str, model: str, records: int) -> page.Report:
    """The prediction with its timeline; ends the command if there is none."""
    try:
        with tempfile.TemporaryDirectory(prefix="omni-") as folder:
            file = Path(folder, "timeline")
            options = [f"--timeline={file}", f"--timeline-records={records}"]
            prediction = predict.run(trace, params, model, options)
            drawn = timelines.read(file, len(timelines.lanes(prediction)))
    except (predict.PredictionError, TimelineError) as error:
        fail(str(error), error)
    sites.resolve(prediction)
    warnings = predict.warnings(prediction)
    if left := prediction["timeline"]["left_out"]:
        warnings.append(
            f"the timeline is not whole: {left} intervals and messages at the ends of ranks were left out to keep the "
            "page small (--records); all other figures are of the whole program"
        )
    for line in warnings:
        typer.echo(f"warning: {line}", err=True)
    return page.Report(prediction, drawn, parameter_file(params), warnings)


def parameter_file(params: str) -> dict[str, Any] | None:
    """What ompl-model has read, if it was a file."""
    path = Path(params)
    return json.loads(path.read_text()) if path.is_file() else None


def fail(text: str, cause: Exception | None = None) -> NoReturn:
    """Ends the command."""
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(1) from cause

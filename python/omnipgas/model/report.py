# SPDX-License-Identifier: BSD-3-Clause
"""omni model report: a prediction as one page, and as pictures."""

import json
import tempfile
from pathlib import Path
from typing import Any, List, NoReturn, Optional  # noqa: UP035

import typer

from omnipgas import peers
from omnipgas.model import page, pictures, predict, sites, timelines, tracers
from omnipgas.model import trace as tracing
from omnipgas.model.timelines import TimelineError
from omnipgas.model.traces import TraceError

RECORDS = 2_000_000

TRACE = typer.Argument(..., metavar="TRACE", help="Folder of a trace, GOAL file, or a pattern: ring:64:1000:8.")
WORDS = typer.Argument(..., metavar="TRACE", help="As for predict; or a command, traced first: -- mpiexec -n 16 ./app.")
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="The page: report.html.")
PICTURE = typer.Option(..., "-o", "--out", metavar="FILE", help="Picture: PNG, SVG or PDF by its suffix.")
PLOT = typer.Option(None, "--plot", metavar="DIR", help="Folder for breakdown and timeline as PNG and SVG too.")
MOST = typer.Option(RECORDS, "--records", min=1, help="Intervals and messages drawn at most, of each rank its first.")


def report(
    words: List[str] = WORDS,  # noqa: UP006
    out: Path = OUT,
    params: str = predict.PARAMS,
    model: str = predict.MODEL,
    plot: Optional[Path] = PLOT,  # noqa: UP045
    records: int = MOST,
) -> None:
    """Predicts, and writes a page that shows where the time goes: bars, timeline, call sites, sensitivities."""
    trace = words[0] if len(words) == 1 else record(words, out.with_suffix(".trace"))
    found = run(trace, params, model, records)
    try:
        page.write(out, found)
        typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, opens in any browser", err=True)
        if plot:
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
    found = run(trace, params, model, records)
    try:
        pictures.timeline(out, found.prediction, found.timeline)
    except (OSError, ValueError) as error:
        fail(f"{out}: {getattr(error, 'strerror', None) or error}", error)


def record(command: list[str], folder: Path) -> str:
    """Traces a program; its folder."""
    try:
        tracer = tracers.choose(peers.build_dir(), command)
        tracing.prepare(folder)
        status = tracing.run(command, tracer, folder)
    except (tracers.NoTracerError, TraceError) as error:
        fail(str(error), error)
    if status != 0:
        fail(f"the program ended with status {status}; what it left is in {folder}")
    return str(folder)


def run(trace: str, params: str, model: str, records: int) -> page.Report:
    """The prediction with its timeline; ends the command if there is none."""
    try:
        with tempfile.TemporaryDirectory(prefix="omni-") as folder:
            file = Path(folder, "timeline")
            options = [f"--timeline={file}", f"--timeline-records={records}"]
            prediction = predict.run(trace, params, model, options)
            drawn = timelines.read(file, prediction["ranks"])
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

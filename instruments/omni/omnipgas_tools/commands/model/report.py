# SPDX-License-Identifier: BSD-3-Clause
"""omni model report: a prediction as one page, and as pictures."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.libraries import catalog
from omnipgas_tools.model import page, tracers
from omnipgas_tools.model import report as contents
from omnipgas_tools.model.options import FITTED, MACHINES, MODEL, MOST, RUNS, TIMEOUT
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.model.validate import validated
from omnipgas_tools.options import check_writable, failing

MOST_ASKED = 1_000_000  # messages of a trace that is replayed under changes unasked

WORDS = typer.Argument(
    ..., metavar="TRACE", help="As for predict; or a program, which is traced first: -- mpiexec -n 16 ./app"
)
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Writes the page to FILE, such as report.html.")
PLOT = typer.Option(
    None, "--plot", metavar="DIR", help="Also writes breakdown and timeline to the folder DIR, as PNG and SVG."
)
WHATIF = typer.Option(
    None, "--whatif/--no-whatif", help=f"Whether the page says what would help. [up to {MOST_ASKED:,} messages]"
)


def report(
    words: list[str] = WORDS,
    out: Path = OUT,
    params: Optional[str] = FITTED,
    model: str = MODEL,
    plot: Optional[Path] = PLOT,
    records: int = MOST,
    what_if: Optional[bool] = WHATIF,
    runs: int = RUNS,
    timeout: float = TIMEOUT,
) -> None:
    """Predicts, and writes a page that shows where the time goes and what would help; of a command all of it: measures
    the machine, runs and traces the program, predicts it, and sets that beside what was measured."""
    trace, validation = words[0], None
    if len(words) == 1 and params is None:
        raise typer.BadParameter(f"--params is missing: a file, or {MACHINES}")
    check_writable(out, "-o")
    with failing(ModelError):
        if len(words) > 1:  # trace and parameters stay beside the page
            folder = out.with_suffix(".trace")
            tracer = tracers.choose(catalog.build_dir(), words)
            validation, params = validated(
                words, tracer, folder, params, out.with_suffix(".params.json"), model=model, runs=runs, timeout=timeout
            )
            trace = str(folder)
        assert params is not None
        found = contents.run(trace, params, model, records)
        found.validation = validation
        if what_if or (what_if is None and found.prediction["messages"] <= MOST_ASKED):
            found.whatif = contents.helps(trace, params, model)
        page.write(out, found)
        typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, opens in any browser", err=True)
        if plot:
            from omnipgas_tools.model import pictures

            plot.mkdir(parents=True, exist_ok=True)
            for suffix in ("png", "svg"):
                pictures.breakdown(plot / f"breakdown.{suffix}", found.prediction)
                pictures.timeline(plot / f"timeline.{suffix}", found.prediction, found.timeline)

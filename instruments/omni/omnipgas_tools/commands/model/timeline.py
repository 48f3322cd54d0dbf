# SPDX-License-Identifier: BSD-3-Clause
"""omni model timeline: what each rank does and when, as a picture."""

from pathlib import Path

import typer

from omnipgas_tools.model import report
from omnipgas_tools.model.options import MODEL, MOST, PARAMS
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import fail, failing

TRACE = typer.Argument(..., metavar="TRACE", help="Folder of a trace, OTF2 archive, GOAL file, or a pattern.")
PICTURE = typer.Option(
    ..., "-o", "--out", metavar="FILE", help="Writes the picture to FILE, as PNG, SVG or PDF by its suffix."
)


def timeline(
    trace: str = TRACE,
    out: Path = PICTURE,
    params: str = PARAMS,
    model: str = MODEL,
    records: int = MOST,
) -> None:
    """Predicts, and draws what each rank does and when."""
    from omnipgas_tools.model import pictures

    with failing(ModelError):
        found = report.run(trace, params, model, records)
        try:
            pictures.timeline(out, found.prediction, found.timeline)
        except ValueError as error:
            fail(f"{out}: {error}", error)

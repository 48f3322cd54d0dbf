# SPDX-License-Identifier: BSD-3-Clause
"""omni model export: a trace in the formats of other tools."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.model import export as formats
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import failing

PLACE = typer.Argument(..., metavar="TRACE", help="Folder of a trace; for --goal also a pattern.")
CHROME = typer.Option(
    None, "--chrome", metavar="FILE", help="Writes JSON for ui.perfetto.dev and chrome://tracing to FILE."
)
GOAL = typer.Option(
    None, "--goal", metavar="FILE",
    help="Writes a schedule for LogGOPSim and ATLAHS to FILE; collectives become messages.",
)  # fmt: skip
OTF2 = typer.Option(
    None, "--otf2", metavar="NAME.otf2", help="Writes an archive for the tools of Score-P: Vampir, otf2-print."
)


def export(
    place: str = PLACE, chrome: Optional[Path] = CHROME, goal: Optional[Path] = GOAL, otf2: Optional[Path] = OTF2
) -> None:
    """Writes a trace as Perfetto or Chrome JSON, as a GOAL schedule, or as an OTF2 archive."""
    if chrome is None and goal is None and otf2 is None:
        raise typer.BadParameter("nothing to write: give --chrome FILE, --goal FILE or --otf2 FILE")
    with failing(ModelError):
        if chrome is not None:
            formats.write_chrome(chrome, Path(place))
        if goal is not None:
            formats.convert("goal", place, goal)
        if otf2 is not None:
            formats.convert("otf2", place, otf2)

# SPDX-License-Identifier: BSD-3-Clause
"""One call of a measuring command: what it began with, the result file, the plot, the exit status."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from omnipgas_tools import __version__
from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.options import INTERRUPTED, check_writable, console_beside, order

MOST_LOAD = 0.5  # running processes for each core, above which measurements disturb each other, as omni doctor has it
Draw = Callable[[Any, Path], None]  # told the module report/plots.py, which takes long to load, and the file


def busy(load: float, cores: int) -> str:
    """What to say of a machine on which others compute, in a line; "" if none do."""
    if load <= MOST_LOAD * cores:
        return ""
    return (
        f"Warning: load {load:.1f} on {cores} cores. Do not trust times and tails; ratios of rounds that stand side by"
        " side say more, and a ratio of medians need not equal the median of ratios. omni doctor tells more."
    )


class Session:
    """Begins before anything is measured: what cannot be written ends the command then."""

    def __init__(self, json: str | None, plot: Path | None, limits: Limits, seed: int | None = None) -> None:
        check_writable(json, "--json")
        check_writable(plot, "--plot")
        self.json, self.plot, self.limits, self.seed = json, plot, limits, order(seed)
        self.console = console_beside(json)
        self.machine, self.started = results.machine(), datetime.now(UTC)
        if warning := busy(self.machine["load"], self.machine["cores"]):
            self.console.print(warning, style="bold")

    def write(self, rows: Sequence[Result], libraries: dict[str, Any], interrupted: bool) -> None:
        """Writes the result file, if one is wanted; `libraries`: how each was started."""
        if self.json:
            started, finished = (time.isoformat(timespec="seconds") for time in (self.started, datetime.now(UTC)))
            said = {"omni": __version__, "started": started, "finished": finished, "seed": self.seed}
            said |= {"limits": asdict(self.limits), "libraries": libraries, "interrupted": interrupted}
            results.write(self.json, results.document(self.machine, said, list(rows)))

    def end(
        self, rows: Sequence[Result], libraries: dict[str, Any], interrupted: bool, draw: Draw | None = None
    ) -> typer.Exit:
        """Writes what was asked for; the end of the command, a failure if nothing was measured."""
        if interrupted:
            self.console.print("Interrupted: what was measured until then is reported.", style="bold")
        self.write(rows, libraries, interrupted)
        if self.plot and draw:
            from omnipgas_tools.report import plots

            draw(plots, self.plot)
            self.console.print(f"Plot: {self.plot}")
        measured = any(row["status"] == "ok" for row in rows)
        return typer.Exit(INTERRUPTED if interrupted else 0 if measured else 1)

# SPDX-License-Identifier: BSD-3-Clause
"""omni cg and omni spmv: runs their jobs, shows and writes what these found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results
from omnipgas_tools.options import INTERRUPTED, refuse
from omnipgas_tools.report.terminal import table_of
from omnipgas_tools.solver.jobs import Where, follow, job, residual_text

ROUNDED = 2  # times the tolerance
SHOWN = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # iterations whose residuals are printed


def run(jobs: Sequence[Sequence[str]], where: Where, json: str | None, plot: Path | None = None) -> int:
    """Starts a job, or one for each of several solvers, shows and writes what they found; the exit status."""
    console = Console(stderr=json == "-", markup=False, emoji=False)
    found, code = results_of(jobs, where, console)
    if len(found) < len(jobs):
        return code
    several = len(jobs) > 1
    console.print(comparison(found) if several else one_result(found[0]))
    if json:
        results.write(json, {"solvers": found} if several else found[0])
    if plot:
        from omnipgas_tools.report import plots

        plots.residuals(plot, found[0])
        console.print(f"Plot: {plot}")
    return code


def results_of(jobs: Sequence[Sequence[str]], where: Where, console: Console) -> tuple[list[dict[str, Any]], int]:
    """What jobs found, one after the other, up to one that found nothing; the first exit status that is not 0."""
    found: list[dict[str, Any]] = []
    status = 0
    try:
        for arguments in jobs:
            result, code = follow(*job(arguments, where), console)
            if result is None:
                return found, code or 1
            found.append(result)
            status = status or code
    except catalog.MissingError as missing:
        return found, refuse(missing).exit_code
    except KeyboardInterrupt:
        return found, INTERRUPTED
    return found, status


def comparison(found: Sequence[dict[str, Any]]) -> Table:
    """A row for each solver; the time of an iteration also over that of the first."""
    table = table_of("solver", ">iterations", ">sums", ">ms an\niteration", ">of cg's", ">of these\nfor sums",
                     ">true\nresidual", left=1)  # fmt: skip
    for one in found:
        each = one["seconds_per_iteration"]
        table.add_row(
            one["solver"], str(one["iterations"]), str(one["reductions"]), f"{each * 1e3:.3f}",
            f"{each / found[0]['seconds_per_iteration']:.2f}", f"{one['split']['reduction'] * 1e3:.3f}",
            residual_text(one["true_relative_residual"]),
        )  # fmt: skip
    return table


def rounding(r: dict[str, Any]) -> str:
    """A remark where the solver has converged and |b - A x| has not, by a factor that is no rounding of the last
    digit."""
    if not r["converged"] or r["true_relative_residual"] <= ROUNDED * r["tolerance"]:
        return ""
    return f": above the tolerance {r['tolerance']:g}, because of rounding; x is no better than this"


def one_result(r: dict[str, Any]) -> Table:
    """Its names and values."""
    cost = r["quality"]
    made = [
        ("matrix", f"{r['matrix']}: {r['rows']} rows, {r['entries']} entries, {r['format']} ({r['instructions']})"),
        ("ranks", f"{r['ranks']} of {r['threads']} threads, {r['strategy_used'] or 'auto, which has not chosen yet'}"),
        (
            "partition",
            f"{r['partition']}: cut {cost['cut']}, halo {cost['halo']}, "
            f"neighbours {cost['neighbours_mean']:.1f} (most {cost['neighbours_most']}), "
            f"smallest message {cost['smallest_message_bytes']} B, "
            f"interior rows at least {cost['interior_least']:.0%}",
        ),
        ("set up", f"{r['setup_seconds']:.3f} s"),
        ("iterations", f"{r['iterations']} of {r['seconds_per_iteration'] * 1e3:.3f} ms"),
        ("of these", ", ".join(f"{k.replace('_', ' ')} {v * 1e3:.3f} ms" for k, v in r["split"].items())),
    ]
    if measured := r["strategies_us"]:
        made.insert(2, ("from start to start", ", ".join(f"{name} {us:.1f} us" for name, us in measured.items())))
    if r["command"] == "cg":
        history = r["history"]
        made.append(("solver", f"{r['solver']}, {r['reductions']} sums over the ranks by {r['reductions_by']}"))
        chosen = [i for i in SHOWN if i < len(history) - 1]
        made += [("residual", f"{residual_text(history[i])} after {i}") for i in chosen]
        made += [
            ("residual", f"{residual_text(r['relative_residual'])} at the end, {r['stop']}"),
            ("true residual", residual_text(r["true_relative_residual"]) + rounding(r)),
        ]
    table = Table(show_header=False, box=None)
    for row in made:
        table.add_row(*row)
    return table

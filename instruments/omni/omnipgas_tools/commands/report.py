# SPDX-License-Identifier: BSD-3-Clause
"""omni report: result files of omni pingpong, rate and memory as one page without a network, and as a table (CSV)."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools import files
from omnipgas_tools.report import comparison
from omnipgas_tools.report import table as comparison_table

FILES = typer.Argument(..., metavar="FILE...", help="Result files of omni pingpong, omni rate, omni memory.")
OUTPUT = typer.Option("report.html", "-o", "--output", help="Writes the page to this file.")
BESIDE = typer.Option(
    None, "--beside", metavar="FILE",
    help="Sets another result file beside them: before and after, machine A and B; repeatable.",
)  # fmt: skip
CSV = typer.Option(None, "--csv", metavar="FILE", help="Writes all results to FILE, as CSV.")
TABLE = typer.Option(None, "--table", metavar="FILE", help="Writes a row for each library to FILE, as Markdown.")


def command(
    paths: list[Path] = FILES,
    beside: Optional[list[Path]] = BESIDE,
    output: Path = OUTPUT,
    rows: Optional[Path] = CSV,
    table: Optional[Path] = TABLE,
) -> None:
    """One offline page of result files: the papers' figures, the fastest, the libraries, the machine."""
    sides = [comparison.side(paths)] + ([comparison.side(beside)] if beside else [])
    try:
        comparison.write_page(output, sides)
        if rows:
            comparison.write_csv(rows, sides)
        if table:
            files.write(table, "\n".join(map(comparison_table.tables, sides)))
    except OSError as error:
        where = error.filename or output
        raise typer.BadParameter(f"{where}: {error.strerror}", param_hint="-o, --csv, --table") from error
    written = (("Page", output), ("rows", rows), ("table", table))
    print(", ".join(f"{what}: {path}" for what, path in written if path))

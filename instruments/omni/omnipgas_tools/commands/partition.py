# SPDX-License-Identifier: BSD-3-Clause
"""omni partition: what partitions of a matrix cost, in one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import typer
from rich.table import Table

from omnipgas_tools import options
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure import results
from omnipgas_tools.report.terminal import table_of
from omnipgas_tools.solver.partition import KINDS, Cost, PartitionError, costs

SCHEMA = "omnipgas-partition-1"

PARTITIONS = typer.Option(
    "row,kway", "--partition", help=f"Ways to cut the matrix, comma-separated: {', '.join(KINDS)}."
)
PARTS = typer.Option("2,8,32,100", "--parts", help="Numbers of parts, comma-separated.")
TIMEOUT = options.timeout(3600.0, "the program is ended")


def command(
    generate: Optional[str] = options.GENERATE,
    matrix: Optional[Path] = options.MATRIX,
    partition: str = PARTITIONS,
    parts: str = PARTS,
    json: Optional[str] = options.JSON,
    timeout: float = TIMEOUT,
) -> None:
    """What it costs to cut a matrix into parts: entries cut, values received, neighbours, rows that need no other part,
    the smallest message."""
    kinds, counts = options.words("--partition", partition, list(KINDS)), options.numbers("--parts", parts, 1)
    options.check_writable(json, "--json")
    console = options.console_beside(json)
    machine, found, code = results.machine(), [], 0
    try:
        with console.status("") as status:
            for cost in costs(options.matrix_source(generate, matrix), kinds, counts, timeout):
                found.append(cost)
                status.update(f"{cost['partition']}, {cost['parts']} parts")
    except MissingError as error:
        raise options.refuse(error) from error
    except PartitionError as error:
        options.refuse(error)
        code = error.code
        if not found:
            raise typer.Exit(code) from error
    except KeyboardInterrupt as stop:
        raise typer.Exit(options.INTERRUPTED) from stop
    console.print(table(found))
    if json:
        results.write(json, {"schema": SCHEMA, "machine": machine, "partitions": found})
    raise typer.Exit(code)


def table(found: Sequence[Cost]) -> Table:
    """A row for each partition."""
    made = table_of("partition", ">parts", ">cut", ">halo", ">neighbours", ">smallest\nmessage, B",
                    ">interior\nrows, least", ">largest\npart", ">s", left=1)  # fmt: skip
    for one in found:
        cost = one["quality"]
        made.add_row(
            one["partition"], str(one["parts"]), f"{cost['cut']:,}", f"{cost['halo']:,}",
            f"{cost['neighbours_mean']:.1f} ({cost['neighbours_most']})", f"{cost['smallest_message_bytes']:,}",
            f"{cost['interior_least']:.0%}", f"{cost['rows_most']:.3f}", f"{one['seconds']:.2f}",
        )  # fmt: skip
    return made

# SPDX-License-Identifier: BSD-3-Clause
"""omni partition: what partitions of a matrix cost, in one table."""

from __future__ import annotations

import json as json_
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from omnipgas_tools.halo.pattern import Pattern
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure import results
from omnipgas_tools.options import INTERRUPTED, console_beside, numbers, words

SCHEMA = "omnipgas-partition-1"
KINDS = ("row", "entries", "kway", "recursive", "blocks")
DOUBLE = 8  # bytes

Cost = dict[str, Any]  # a line of ompl_partition

GENERATE = typer.Option(
    None, "--generate", metavar="WHAT", help="27pt:N, 7pt:N or aniso:N:WX,WY,WZ; N may be NXxNYxNZ."
)
MATRIX = typer.Option(None, "--matrix", metavar="FILE", help="Matrix Market, Harwell-Boeing or Rutherford-Boeing.")
PARTITIONS = typer.Option("row,kway", "--partition", help=f"Ways to cut, comma-separated: {', '.join(KINDS)}.")
PARTS = typer.Option("2,8,32,100", "--parts", help="Numbers of parts, comma-separated.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")
TIMEOUT = typer.Option(3600.0, "--timeout", min=0.1, help="Seconds until it is ended.")


class PartitionError(Exception):
    """What could not be cut, and why."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code  # exit status


def command(
    generate: Optional[str] = GENERATE,
    matrix: Optional[Path] = MATRIX,
    partition: str = PARTITIONS,
    parts: str = PARTS,
    json: Optional[str] = JSON,
    timeout: float = TIMEOUT,
) -> None:
    """What it costs to cut a matrix into parts: entries cut, values received, neighbours, rows that need no other part,
    the smallest message."""
    kinds, counts = words("--partition", partition, list(KINDS)), numbers("--parts", parts, 1)
    console = console_beside(json)
    machine, found = results.machine(), []
    try:
        with console.status("") as status:
            for cost in costs(source(generate, matrix), kinds, counts, timeout):
                found.append(cost)
                status.update(f"{cost['partition']}, {cost['parts']} parts")
    except (PartitionError, peers.MissingError) as error:
        print(f"omni: {error}", file=sys.stderr)
        raise typer.Exit(getattr(error, "code", 1)) from error
    except KeyboardInterrupt as stop:
        raise typer.Exit(INTERRUPTED) from stop
    console.print(table(found))
    if json:
        results.write(json, {"schema": SCHEMA, "machine": machine, "partitions": found})


def program(name: str) -> Path:
    """One of the solver's programs; raises peers.MissingError."""
    path = peers.build_dir() / "bin" / name
    if not path.is_file():
        raise peers.MissingError(f"{path} does not exist: build the project, or set OMNI_BUILD_DIR")
    return path


def source(generate: str | None, matrix: Path | None) -> str:
    """The matrix, as the solver's programs are told it."""
    if (generate is None) == (matrix is None):
        raise typer.BadParameter("give either --generate or --matrix")
    return f"--generate={generate}" if matrix is None else f"--matrix={matrix}"


def costs(
    matrix: str, kinds: Sequence[str], parts: Sequence[int], timeout: float, *, messages: bool = False
) -> Iterator[Cost]:
    """Of each kind and number of parts, as soon as it is known. With `messages` also `each`: rows, entries and cut
    entries of each part; and `messages`: from, to and values. Raises PartitionError, peers.MissingError."""
    line = ["timeout", str(timeout), str(program("ompl_partition")), matrix]
    line += [f"--partition={','.join(kinds)}", f"--parts={','.join(map(str, parts))}"]
    line += ["--messages"] if messages else []
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stderr is not None
        try:
            yield from map(json_.loads, job.stdout)
            said = job.stderr.read().strip()
        finally:
            job.terminate()
    if job.returncode != 0:
        late = job.returncode == 124  # as timeout says it
        why = f"it took more than {timeout:g} s" if late else f"it ended with status {job.returncode}"
        raise PartitionError(said or why, job.returncode)


def pattern(cost: Cost) -> Pattern:
    """The exchange behind a product: bytes from each part to each."""
    return Pattern(cost["parts"], {(one, other): DOUBLE * values for one, other, values in cost["messages"]})


def table(found: Sequence[Cost]) -> Table:
    """A row for each partition."""
    made = Table(box=SIMPLE_HEAD)
    heads = ("parts", "cut", "halo", "neighbours", "smallest\nmessage, B", "interior\nrows, least", "largest\npart",
             "s")  # fmt: skip
    made.add_column("partition")
    for head in heads:
        made.add_column(head, justify="right")
    for one in found:
        cost = one["quality"]
        made.add_row(
            one["partition"], str(one["parts"]), f"{cost['cut']:,}", f"{cost['halo']:,}",
            f"{cost['neighbours_mean']:.1f} ({cost['neighbours_most']})", f"{cost['smallest_message_bytes']:,}",
            f"{cost['interior_least']:.0%}", f"{cost['rows_most']:.3f}", f"{one['seconds']:.2f}",
        )  # fmt: skip
    return made

# SPDX-License-Identifier: BSD-3-Clause
"""omni tune: what the tuner of collectives has found on this machine, and keeps for later jobs."""

import json as json_
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Optional

import typer
from rich.console import Console
from rich.table import Table

from omnipgas_tools import documents, files
from omnipgas_tools.documents import DocumentError
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results
from omnipgas_tools.model.fit.measurements import DataError
from omnipgas_tools.options import JSON, check_writable, console_beside, group, numbers, refuse, words
from omnipgas_tools.options import sizes as sizes_option
from omnipgas_tools.overlap import advice
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.report.terminal import figure, table_of
from omnipgas_tools.tuner import runs
from omnipgas_tools.tuner import table as tables
from omnipgas_tools.tuner.runs import Kind, Replayed, RunError
from omnipgas_tools.tuner.table import TableError

SCHEMA = "omnipgas-tune-1"
RECORDING_SCHEMA = "omnipgas-tuner-recording-1"
REPLAYED_SCHEMA = "omnipgas-tuner-replayed-1"
ADVICE_SCHEMA = "omnipgas-advice-1"

app = group("What the tuner of collectives (OMPL_TUNER=1) has found, and keeps for later jobs.", no_args_is_help=True)

TABLE = typer.Option(
    None, "--table", metavar="FILE", help="The tuner's table. [OMPL_TUNER_TABLE, or this machine's in the cache folder]"
)
COPY = typer.Argument("-", metavar="FILE", help="File to write; - is standard output.")
FITTED = typer.Argument(..., metavar="FILE", help="What `omni model fit --mpi ompl -o FILE` has written.")
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Writes the recording to FILE; - is standard output.")
RECORDING = typer.Argument(..., metavar="FILE", help="What `omni tune record` has written.")
COLLECTIVES = typer.Option(
    "allreduce,allgather", "--collectives",
    help=f"Collectives to record, comma-separated: {', '.join(overlap_plan.COLLECTIVES)}.",
)  # fmt: skip
SIZES = sizes_option("8,1024,65536", "Bytes of a rank's block or vector, comma-separated.")
RANKS = typer.Option("2", "--ranks", help="Ranks on this node, comma-separated.")
CALLS = typer.Option(runs.CALLS, "--calls", min=10, help="Calls of each algorithm.")
FILES = typer.Argument(..., metavar="FILE...", help="Result files of omni overlap, together of several p_node.")


@contextmanager
def refusing(*errors: type[Exception], writing: object = None, verb: str = "written") -> Iterator[None]:
    """These errors end the command, and one of the operating system at the file that is used."""
    try:
        yield
    except errors as error:
        raise refuse(error) from error
    except OSError as error:
        raise refuse(f"{writing} cannot be {verb}: {error.strerror}") from error


@app.command()
def record(
    out: str = OUT, collectives: str = COLLECTIVES, sizes: str = SIZES, ranks: str = RANKS, calls: int = CALLS
) -> None:
    """Record what each algorithm takes at each of many calls on this machine, for `omni tune replay`."""
    kinds = [
        Kind(collective, size, count)
        for count in numbers("--ranks", ranks, 2)
        for collective in words("--collectives", collectives, list(overlap_plan.COLLECTIVES))
        for size in numbers("--sizes", sizes, 1)
    ]
    check_writable(out, "-o")
    with refusing(RunError, writing=out):
        recordings = [runs.record(catalog.build_dir(), kind, calls) for kind in kinds]
        found = {"schema": RECORDING_SCHEMA, "machine": results.machine(), "recordings": recordings}
        _write(out, json_.dumps(found) + "\n")


@app.command()
def replay(recording: Path = RECORDING, json: Optional[str] = JSON) -> None:
    """Show what the tuner would have decided on a recording: how near the best it ends, and what finding it cost."""
    check_writable(json, "--json")
    with refusing(RunError, writing=recording, verb="read"):
        try:
            content = documents.load(recording)
            if content["schema"] != RECORDING_SCHEMA:
                raise ValueError(f"its schema is not {RECORDING_SCHEMA}")
            found = runs.replay(catalog.build_dir(), content["recordings"])
        except (DocumentError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise refuse(f"{recording} is no recording of omni tune record: {error}") from error
    console_beside(json).print(_replays(found))
    if json:
        results.write(
            json, {"schema": REPLAYED_SCHEMA, "recording": str(recording), "replayed": [asdict(one) for one in found]}
        )


@app.command()
def advise(files: list[Path] = FILES, json: Optional[str] = JSON) -> None:
    """Say how many processes per node, and which mode of progress, finish the same work on the same cores first."""
    check_writable(json, "--json")
    try:
        found = advice.advise(row for path in files for row in _rows_of(path))
    except (DocumentError, ValueError, KeyError) as error:
        raise typer.BadParameter(f"no result files of omni overlap: {error}", param_hint="FILE") from error
    if not found:
        raise typer.BadParameter(
            "no work was measured with several p_node: run omni overlap with several --ranks, --computation paper and,"
            " of allgather, with sizes whose products with p_node are the same"
        )
    console = console_beside(json)
    for one in found:
        _show_advice(console, one)
    for library, ways in advice.most_often_first(found).items():
        way, wins, tried = ways[0]
        console.print(f"{library}: {way} is the fastest, or tied with it, at {wins} of {tried} works.", highlight=False)
    if json:
        works = [_advice_json(one) for one in found]
        results.write(json, {"schema": ADVICE_SCHEMA, "files": [str(path) for path in files], "advice": works})


@app.command()
def show(table: Optional[Path] = TABLE, json: Optional[str] = JSON) -> None:
    """Show what is known: for each kind of call the best algorithm, its time, and the others beside it."""
    check_writable(json, "--json")
    with refusing(TableError, writing=json):
        path = tables.place(table)
        known = tables.load(path)
        console = console_beside(json)
        console.print(f"{path}: {len(known.entries)} kind(s) of call", highlight=False)
        for where, terms in known.terms.items():
            console.print(f"{where}: {tables.terms_text(terms)}", highlight=False)
        console.print(tables.rows_of(known.entries))
        if json:
            rows = [{**vars(one), "most_bytes": one.most_bytes, "best": one.ranking[0][0]} for one in known.entries]
            results.write(json, {"schema": SCHEMA, "table": str(path), "loggp_ns": known.terms, "entries": rows})


@app.command()
def clear(table: Optional[Path] = TABLE) -> None:
    """Forget what is known: the next job tries all again. Use it after a change of the machine."""
    with refusing(TableError):
        path = tables.place(table)
    with refusing(writing=path, verb="removed"):
        existed = path.exists()
        path.unlink(missing_ok=True)
    print(f"Removed {path}." if existed else f"There is no {path}.")


@app.command()
def export(out: str = COPY, table: Optional[Path] = TABLE) -> None:
    """Write the table to a file, for a machine of the same make: there OMPL_TUNER_TABLE names it."""
    with refusing(TableError, writing=out):
        _write(out, json_.dumps(tables.load(tables.place(table)).whole, indent=1) + "\n")


@app.command()
def model(fitted: Path = FITTED, table: Optional[Path] = TABLE) -> None:
    """Tell the tuner what messages cost here, as measured: the next job orders and leaves out algorithms by that."""
    with refusing(TableError, DataError):
        where, terms = tables.read_costs(fitted)
        path = tables.place(table)
    with refusing(TableError, writing=path):
        tables.tell(path, where, terms)
    print(f"{path}: {where}: {tables.terms_text(terms)}")


def _write(out: str, text: str) -> None:
    if out == "-":
        sys.stdout.write(text)
    else:
        files.write(Path(out), text)


def _replays(found: list[Replayed]) -> Table:
    """A row for each kind of call."""
    out = table_of("calls", "takes", ">steady, of the best", ">regret")
    for one in found:
        out.add_row(str(one.kind), one.takes, f"{one.steady_of_best:.3f}", f"{100 * one.regret:.1f} %")
    return out


def _rows_of(path: Path) -> list[results.Result]:
    """Of a result file; raises DocumentError."""
    rows: list[results.Result] = results.read(path)["results"]
    return rows


def _show_advice(console: Console, one: advice.Advice) -> None:
    """The ways to do one work, the fastest first."""
    console.print(str(one.work), style="bold", highlight=False)
    if one.emulation:
        console.print(f"Emulated: {one.emulation}.", style="dim")
    table = table_of("way", ">overall us", ">95 %", ">of the first", "")
    for way in one.order:
        took = one.times[way]
        tied = way in one.first and len(one.first) > 1
        table.add_row(
            str(way), figure(took.median), f"{figure(took.low)} - {figure(took.high)}", f"{one.behind(way):.2f}",
            "tied" if tied else "first" if way in one.first else "",
        )  # fmt: skip
    console.print(table)


def _advice_json(one: advice.Advice) -> dict[str, object]:
    """As the result file has it."""
    return {
        "work": asdict(one.work),
        "emulation": one.emulation,
        "ways": [{**asdict(way), **one.times[way].to_json(), "first": way in one.first} for way in one.order],
    }

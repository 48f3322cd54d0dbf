# SPDX-License-Identifier: BSD-3-Clause
"""omni tune: what the tuner of collectives has found on this machine, and keeps for later jobs."""

from __future__ import annotations

import json as json_
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from omnipgas_tools import files
from omnipgas_tools.measure import results
from omnipgas_tools.model.fit.measurements import DataError
from omnipgas_tools.options import console_beside, refuse
from omnipgas_tools.tuner import advise as tune_advise
from omnipgas_tools.tuner import costs as tune_model
from omnipgas_tools.tuner import record as tune_record

SCHEMA = "omnipgas-tune-1"
FORMAT, VERSION = "omnipgas tuner table", 2  # of the library's file: src/coll/tuner/table.cpp

app = typer.Typer(
    help="What the tuner of collectives (OMPL_TUNER=1) has found, and keeps for later jobs.", no_args_is_help=True
)
app.command()(tune_record.record)
app.command()(tune_record.replay)
app.command()(tune_advise.advise)

TABLE = typer.Option(
    None, "--table", metavar="FILE", help="The tuner's table. [OMPL_TUNER_TABLE, or this machine's in the cache folder]"
)
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")
OUT = typer.Argument("-", metavar="FILE", help="Where to; - for standard output.")
FITTED = typer.Argument(..., metavar="FILE", help="What `omni model fit --mpi ompl -o FILE` has written.")


class TableError(Exception):
    """Why there is no table."""


@dataclass(frozen=True)
class Entry:
    """Calls of one kind: what each choice took, in microseconds: an algorithm, or `ring/shared`, one with a mode of
    progress."""

    collective: str
    members: int
    nodes: int
    clustered: bool  # several nodes, with several members each
    commutative: bool
    modes: bool  # of progress are chosen, too: nonblocking calls, from the start to the end of the wait
    algorithm: str  # that the calls name; auto: it is chosen
    bytes: int  # the fewest of the class
    calls: int  # that were tuned
    microseconds: dict[str, float]

    def __post_init__(self) -> None:
        if not isinstance(self.microseconds, dict) or not self.microseconds:
            raise ValueError(f"{self.collective} without times")

    @property
    def most_bytes(self) -> int:
        """The most bytes of the class: there are four for each power of two (src/coll/tuner/candidates.cpp)."""
        return self.bytes + (1 << max(self.bytes.bit_length() - 3, 0)) - 1

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """The choices with their times, the best first."""
        return sorted(self.microseconds.items(), key=lambda one: one[1])


def place(table: Path | None) -> Path:
    """Where the table is, by the library's rules; raises TableError if none is kept."""
    if table is not None:
        return table
    chosen = os.environ.get("OMPL_TUNER_TABLE", "")
    if chosen == "none":
        raise TableError("no table is kept: OMPL_TUNER_TABLE is none")
    if chosen:
        return Path(chosen)
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if not cache.startswith("/"):
        if not home.startswith("/"):
            raise TableError("no table is kept: there is no cache folder; set OMPL_TUNER_TABLE to a file")
        cache = f"{home}/.cache"
    return Path(cache) / "omnipgas/tuner" / f"{socket.gethostname().replace('/', '_')}.json"


@dataclass(frozen=True)
class Known:
    """A table: its text, the kinds of calls in it, and LogGP terms by where messages go (tune_model)."""

    text: str
    entries: list[Entry]
    terms: dict[str, dict[str, float]]


def load(path: Path) -> Known:
    """Raises TableError."""
    try:
        text = path.read_text()
        whole = json_.loads(text)
        if whole["format"] != FORMAT or whole["version"] != VERSION:
            raise TableError(f"{path} is no tuner's table of version {VERSION}")
        return Known(text, [Entry(**row) for row in whole["entries"]], dict(whole.get("loggp_ns", {})))
    except FileNotFoundError as error:
        raise TableError(f"there is no {path}: a job with OMPL_TUNER=1 makes it at its end") from error
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} is damaged ({error}): `omni tune clear` removes it") from error


@app.command()
def show(table: Optional[Path] = TABLE, json: Optional[str] = JSON) -> None:
    """Show what is known: for each kind of call the best algorithm, its time, and the others beside it."""
    try:
        path = place(table)
        known = load(path)
    except TableError as error:
        raise refuse(error) from error
    console = console_beside(json)
    console.print(f"{path}: {len(known.entries)} kind(s) of call", highlight=False)
    for where, terms in known.terms.items():
        console.print(f"{where}: {_words(terms)}", highlight=False)
    console.print(table_of(known.entries))
    if json:
        rows = [{**vars(one), "most_bytes": one.most_bytes, "best": one.ranking[0][0]} for one in known.entries]
        results.write(json, {"schema": SCHEMA, "table": str(path), "loggp_ns": known.terms, "entries": rows})


@app.command()
def clear(table: Optional[Path] = TABLE) -> None:
    """Forget what is known: the next job tries all again. Use it after a change of the machine."""
    try:
        path = place(table)
        path.unlink()
    except TableError as error:
        raise refuse(error) from error
    except FileNotFoundError:
        print(f"There is no {path}.")
    except OSError as error:
        raise refuse(f"{path} cannot be removed: {error.strerror}") from error
    else:
        print(f"Removed {path}.")


@app.command()
def export(out: str = OUT, table: Optional[Path] = TABLE) -> None:
    """Write the table to a file, for a machine of the same make: there OMPL_TUNER_TABLE names it."""
    try:
        text = load(place(table)).text
        if out == "-":
            sys.stdout.write(text)
        else:
            files.write(Path(out), text)
    except TableError as error:
        raise refuse(error) from error
    except OSError as error:
        raise refuse(f"{out} cannot be written: {error.strerror}") from error


@app.command()
def model(fitted: Path = FITTED, table: Optional[Path] = TABLE) -> None:
    """Tell the tuner what messages cost here, as measured: the next job orders and leaves out algorithms by that."""
    try:
        where, terms = tune_model.read(fitted)
        path = place(table)
        whole: dict[str, Any] = {"format": FORMAT, "version": VERSION, "entries": []}
        if path.exists():
            whole = json_.loads(load(path).text)
        whole["loggp_ns"] = {**whole.get("loggp_ns", {}), where: terms}
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, json_.dumps(whole, indent=1) + "\n")
    except (TableError, DataError) as error:
        raise refuse(error) from error
    except OSError as error:
        raise refuse(f"{path} cannot be written: {error.strerror}") from error
    print(f"{path}: {where}: {_words(terms)}")


def _call(one: Entry) -> str:
    about = {
        ", in order": not one.commutative,
        f", by {one.algorithm}": one.algorithm != "auto",
        ", nonblocking": one.modes,
    }
    return one.collective + "".join(text for text, holds in about.items() if holds)


def _words(terms: dict[str, float]) -> str:
    return f"L {terms['L']:.4g} ns, o {terms['o']:.4g} ns, g {terms['g']:.4g} ns, G {terms['G']:.3g} ns/byte"


def table_of(entries: list[Entry]) -> Table:
    """One row for each kind of call."""
    out = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("collective", "bytes", "members", "nodes", "best", "us", "others, times as long", "calls"):
        out.add_column(column, justify="right" if column in {"bytes", "members", "nodes", "us", "calls"} else "left")
    for one in entries:
        (best, least), *others = one.ranking
        out.add_row(
            _call(one),
            f"{one.bytes}-{one.most_bytes}" if one.most_bytes > one.bytes else str(one.bytes),
            str(one.members),
            str(one.nodes),
            best,
            f"{least:.3g}",
            ", ".join(f"{name} {time / least:.2f}" for name, time in others),
            str(one.calls),
        )
    return out

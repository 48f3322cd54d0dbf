# SPDX-License-Identifier: BSD-3-Clause
"""The table of the tuner of collectives: what it has found on this machine, and keeps for later jobs; and what messages
of this layer cost there, taken from what `omni model fit` has found.

The tuner orders algorithms by their LogGP cost. Of the fitted models LogGOPS has all of LogGP's terms, and a message of
k bytes takes L + 2 o + (k - 1) (O + G) there (Hoefler, Schneider, Lumsdaine 2010): so a byte costs O + G.
"""

import json
import math
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from omnipgas_tools import documents, files
from omnipgas_tools.documents import DocumentError
from omnipgas_tools.model.fit import parameter_file
from omnipgas_tools.model.fit.measurements import DataError
from omnipgas_tools.report import terminal

SCHEMA_FILE = Path(__file__).with_name("table.schema.json")
FORMAT, VERSION = "omnipgas tuner table", 2  # of the library's file: src/coll/tuner/table.cpp
NODE, NETWORK = "node", "network"  # as the table names them
LAYER, MEMORY = "ompl", "shared memory"  # as the file does
UNITS = {"L": "ns", "o": "ns", "g": "ns", "O": "ns/byte", "G": "ns/byte"}


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
    """A table: all of it, the kinds of calls in it, and LogGP terms by where messages go."""

    whole: dict[str, Any]
    entries: list[Entry]
    terms: dict[str, dict[str, float]]


def load(path: Path) -> Known:
    """Raises TableError."""
    try:
        whole = documents.read(path, SCHEMA_FILE)
    except DocumentError as error:
        if not path.exists():
            raise TableError(f"there is no {path}: a job with OMPL_TUNER=1 makes it at its end") from error
        raise TableError(f"no tuner's table: {error}; `omni tune clear` removes it") from error
    if whole["version"] != VERSION:
        raise TableError(f"{path} is a tuner's table of version {whole['version']}; this is omni for version {VERSION}")
    return Known(whole, [Entry(**row) for row in whole["entries"]], whole.get("loggp_ns", {}))


def tell(table: Path, where: str, terms: dict[str, float]) -> None:
    """Writes what messages cost into the table, which is made if there is none. Raises TableError, OSError."""
    whole: dict[str, Any] = {"format": FORMAT, "version": VERSION, "entries": []}
    if table.exists():
        whole = load(table).whole
    whole["loggp_ns"] = {**whole.get("loggp_ns", {}), where: terms}
    table.parent.mkdir(parents=True, exist_ok=True)
    files.write(table, json.dumps(whole, indent=1) + "\n")


def _call(one: Entry) -> str:
    about = {
        ", in order": not one.commutative,
        f", by {one.algorithm}": one.algorithm != "auto",
        ", nonblocking": one.modes,
    }
    return one.collective + "".join(text for text, holds in about.items() if holds)


def terms_text(terms: dict[str, float]) -> str:
    """LogGP terms in a line."""
    return f"L {terms['L']:.4g} ns, o {terms['o']:.4g} ns, g {terms['g']:.4g} ns, G {terms['G']:.3g} ns/byte"


def rows_of(entries: list[Entry]) -> Table:
    """One row for each kind of call."""
    heads = ("collective", ">bytes", ">members", ">nodes", "best", ">us", "others, times as long", ">calls")
    out = terminal.table_of(*heads)
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


def read_costs(path: Path) -> tuple[str, dict[str, float]]:
    """Where messages went, NODE or NETWORK, and the terms L, o, g (ns) and G (ns/byte); raises DataError."""
    content = parameter_file.read(path)
    try:
        library, put = content["library"], content["operations"].get("put")
        if library["name"] != LAYER or put is None:
            raise DataError(
                f"{path} is of {library['name']}; collectives send by this layer: omni model fit --mpi {LAYER} -o FILE"
            )
        terms = {name: _term(put["models"]["loggops"], name) for name in UNITS}
        where = NODE if library["transport"] == MEMORY else NETWORK
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {error!r}") from error
    if terms["L"] + terms["o"] <= 0:
        raise DataError(f"{path} says that messages take no time: measure again, with more rounds")
    return where, {name: terms[name] for name in ("L", "o", "g")} | {"G": terms["O"] + terms["G"]}


def _term(model: dict[str, Any], name: str) -> float:
    value, unit = model[name]["value"], model[name]["unit"]
    if unit != UNITS[name] or not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
        raise DataError(f"{name} must be a number from 0 on, in {UNITS[name]}, not {value} {unit}")
    return float(value)

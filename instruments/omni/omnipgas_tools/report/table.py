# SPDX-License-Identifier: BSD-3-Clause
"""omni report --table: what a page of results says, as tables for text (Markdown). Each has a row for each library, its
fastest operation of a kind, and a column for each thread count."""

from collections.abc import Iterable, Sequence
from typing import Any

from omnipgas_tools.measure.results import Result, machine_text
from omnipgas_tools.report.ranking import are_apart, fastest, is_library
from omnipgas_tools.report.terminal import size_text

KINDS = {"put + flag": ("put", "putsignal"), "send and receive": ("sendrecv",)}
SIZES = (8, 4096, 65536, 1048576)  # bytes, of latency


def tables(side: dict[str, Any]) -> str:
    """The results of one side of `omni report`."""
    rows = [row for row in side["results"] if row["threads"] and row["library"].split()[-1] != "processes"]
    parts = [f"{side['date']}, {machine_text(side['machine'])}. Bold: first, or tied with the first (95 % intervals)."]
    pings = [row for row in rows if row["bench"] == "pingpong"]
    threads = sorted({row["threads"] for row in pings})
    for kind, ops in KINDS.items():
        of_kind = [row for row in pings if row["op"] in ops]
        for size in SIZES:
            if of_size := [row for row in of_kind if row["size"] == size]:
                parts.append(_by_threads(f"{kind}, {size_text(size)}, us one way", of_size, threads))
    rates = [row for row in rows if row["bench"] == "rate" and row["op"] == "put"]
    if rates:
        counts = sorted({row["threads"] for row in rates})
        parts.append(_by_threads("million puts with flag a second at a target that sleeps", rates, counts))
    flows = [row for row in rows if row["bench"] == "flow" and row["size"] == SIZES[0]]
    for kind, ops in KINDS.items():
        if of_kind := [row for row in flows if row["op"] in ops]:
            counts = sorted({row["threads"] for row in of_kind})
            parts.append(_by_threads(f"{kind}, {size_text(SIZES[0])}, million that arrive a second", of_kind, counts))
    others = _others(rows)
    if others:
        parts.append(_table("what else", list(others), list(others.values())))
    return "\n\n".join(parts) + "\n"


def _by_threads(title: str, rows: Sequence[Result], threads: Sequence[int]) -> str:
    """A table of one size: the values of each library by thread count; those that did not come are named."""
    columns = [_cells([row for row in rows if row["threads"] == count]) for count in threads]
    return _table(title, [f"{count} thread{'s' if count != 1 else ''}" for count in threads], columns)


def _others(rows: Sequence[Result]) -> dict[str, dict[str, str]]:
    """What a rank takes: each column's text by library."""
    fewest = min((row["threads"] for row in rows), default=0)
    alone = [row for row in rows if row["threads"] == fewest and row["op"] == "put"]
    found = {
        "version": {row["library"]: " ".join(row["version"].split()) for row in rows if row["version"]},
        "us of processor time for a message of 8 B": _plain(alone, "pingpong", "cpu_us_per_message"),
        "start-up, s": _plain(alone, "pingpong", "startup_s"),
        "KiB for one more rank, 1 thread": _plain(alone, "memory", "memory_per_peer_KiB"),
        "descriptors": _plain(alone, "memory", "descriptors_per_peer"),
    }
    return {name: column for name, column in found.items() if column}


def _plain(rows: Iterable[Result], bench: str, name: str) -> dict[str, str]:
    wanted = [row for row in rows if row["bench"] == bench and row.get(name) is not None]
    return {row["library"]: _number(row[name]) for row in wanted if bench == "memory" or row["size"] == SIZES[0]}


def _cells(rows: Sequence[Result]) -> dict[str, str]:
    cells = {row["library"]: row["status"] for row in rows}
    good = {name: [row for row in rows if row["library"] == name and row["status"] == "ok"] for name in cells}
    best = fastest(row for name, own in good.items() if is_library(name) for row in own)
    for name, own in good.items():
        if row := fastest(own):
            text = _number(row["interval"]["median"])
            cells[name] = f"**{text}**" if best and is_library(name) and not are_apart(best, row) else text
    return cells


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _table(title: str, heads: Sequence[str], columns: Sequence[dict[str, str]]) -> str:
    libraries = dict.fromkeys(name for column in columns for name in column)
    rows = [[f"`{name}`", *(column.get(name, "-") for column in columns)] for name in libraries]
    return "\n".join(markdown([title, *heads], rows))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    first, *others = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return [first, "|" + "---|" * len(heads), *others]

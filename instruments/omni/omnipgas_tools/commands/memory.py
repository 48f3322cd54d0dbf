# SPDX-License-Identifier: BSD-3-Clause
"""omni memory: what one more rank costs with each library."""

from typing import Optional

import typer
from rich.console import Console
from rich.table import Table

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure import memory, network, results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.session import Session
from omnipgas_tools.options import JSON, Bar, libs, numbers, over, repeat, threads, timeout, words
from omnipgas_tools.report.terminal import figure, problems, table_of

OP = "put"

LIBS = libs("all", ", or all that can tell.")
THREADS = threads("1,2")
RANKS = typer.Option("2,4", "--ranks", help="Ranks of the jobs, comma-separated, at least two numbers.")
OVER = over("", "Transports of OMPL, instead of memory, comma-separated: {transports}.")
REPEAT = repeat(3, "Jobs of each kind; the median is taken.")
TIMEOUT = timeout(memory.LIMIT, "a job counts as hung")


def command(
    libs: str = LIBS,
    threads: str = THREADS,
    ranks: str = RANKS,
    over: str = OVER,
    repeat: int = REPEAT,
    timeout: float = TIMEOUT,
    json: Optional[str] = JSON,
) -> None:
    """Memory and descriptors that one more rank costs, from jobs of different size in which all ranks have talked."""
    rows_of, sizes = catalog.table(), sorted(numbers("--ranks", ranks, 2))
    if len(sizes) < 2:
        raise typer.BadParameter("needs jobs of two sizes, for example 2,4", param_hint="--ranks")
    known = [name for name, library in rows_of.items() if memory.can_tell(library)]
    chosen = known if libs == "all" else words("--libs", libs, known)
    transports = words("--over", over, list(network.TRANSPORTS))
    session = Session(json, None, Limits(rounds=repeat, timeout=timeout), seed=0)
    measured: list[Result] = []
    interrupted = False
    counts = numbers("--threads", threads, 1)
    with Bar(session.console) as bar:
        bar.plan(len(chosen) * len(counts))
        try:
            for name in chosen:
                try:
                    here = memory.find(rows_of[name], catalog.build_dir())
                    found = network.contenders(here, transports, None)
                except MissingError as missing:
                    measured.append(results.skipped("memory", name, OP, str(missing)))
                    continue
                for count in counts:
                    bar.at(f"{name}, {count} threads")
                    for one in found:
                        measured += memory.rows(one, OP, count, sizes, repeat, timeout)
                    bar.done()
        except KeyboardInterrupt:
            interrupted = True
    show(session.console, measured)
    raise session.end(measured, {}, interrupted)


def show(console: Console, measured: list[Result]) -> None:
    """The table, then what went wrong and why."""
    console.print("Memory of a rank, and what one more rank adds to it", style="bold")
    console.print(table(measured))
    problems(console, measured)


def table(measured: list[Result]) -> Table:
    """A line for each library and thread count."""
    good = [row for row in measured if row["status"] == "ok"]
    sizes = sorted({row["ranks"] for row in good})
    out = table_of(
        "library", ">threads", *(f">MiB\nof {size} ranks" for size in sizes), ">KiB\nper peer",
        ">KiB per peer\nand thread", ">descriptors\nper peer", right=2,
    )  # fmt: skip
    lines: dict[tuple[str, int], dict[int, Result]] = {}
    for row in good:
        lines.setdefault((row["library"], row["threads"]), {})[row["ranks"]] = row
    for (library, count), line in lines.items():
        last = line[max(line)]
        values = [line[size]["memory_MiB"] if size in line else None for size in sizes]
        values += [last["memory_per_peer_KiB"], per_thread(good, last), last["descriptors_per_peer"]]
        out.add_row(library, str(count), *("" if value is None else figure(value) for value in values))
    return out


def per_thread(rows: list[Result], row: Result) -> float | None:
    """KiB that each thread beyond the fewest adds to what a peer costs; nothing of the fewest."""
    costs = {
        r["threads"]: r["memory_per_peer_KiB"]
        for r in rows
        if (r["library"], r["ranks"]) == (row["library"], row["ranks"]) and r["memory_per_peer_KiB"] is not None
    }
    fewest = min(costs, default=0)
    if row["threads"] not in costs or row["threads"] == fewest:
        return None
    return float((costs[row["threads"]] - costs[fewest]) / (row["threads"] - fewest))

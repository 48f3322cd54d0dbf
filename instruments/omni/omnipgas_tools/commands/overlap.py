# SPDX-License-Identifier: BSD-3-Clause
"""omni overlap: what progress threads do to nonblocking collectives and to the computation beside them."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Optional

import typer
from rich.console import Console
from rich.table import Table

from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.session import Session
from omnipgas_tools.options import JSON, SEED, Bar, libs, numbers, repeat, sizes, timeout, words
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.overlap import rounds as overlap_rounds
from omnipgas_tools.overlap import rows as overlap_rows
from omnipgas_tools.overlap.plan import (
    COLLECTIVES,
    DEFAULT,
    KERNELS,
    MODES,
    NONE,
    PAPER,
    PAPERS_MODES,
    Cell,
    Layout,
    PlanError,
    Series,
)
from omnipgas_tools.overlap.rounds import Journal, JournalError
from omnipgas_tools.report.terminal import figure, problems, size_text, table_of

LIBRARIES = "ompl,mpich,openmpi,intel"
SIZES_OF_THE_PAPER = ",".join(str(1 << p) for p in range(23))  # 1 B to 4 MiB

LIBS = libs(LIBRARIES, ".")
CHOSEN = typer.Option("allgather", "--collectives", help=f"Collectives, comma-separated: {', '.join(COLLECTIVES)}.")
RANKS = typer.Option(
    None, "--ranks",
    help="Ranks of a job; several, comma-separated. [as many nodes times 1, 2, .. n_cpu/2 processes]",
)  # fmt: skip
NODES = typer.Option(2, "--nodes", min=1, help="n_node, nodes among which this machine's cores are divided.")
CORES = typer.Option(
    None, "--cores", min=1, help="n_cpu, cores of a node. [its part of the machine's; at least 2, shared in time]"
)
SIZES = sizes(None, "Bytes of a block, comma-separated. [powers of two, 1 B to 4 MiB]")
CHOSEN_MODES = typer.Option(
    ",".join(PAPERS_MODES), "--modes",
    help=f"Modes of progress, comma-separated: {', '.join(MODES)}; none is always measured too.",
)  # fmt: skip
ALGORITHMS = typer.Option(
    DEFAULT, "--algorithms", help="Algorithms, comma-separated; each is pinned by the library's own setting."
)
COMPUTATION = typer.Option(
    PAPER, "--computation",
    help="Lengths of the computation, comma-separated: paper (a fixed number of elements), or multiples of the pure"
    " time of mode none (1: as long).",
)  # fmt: skip
CHOSEN_KERNELS = typer.Option(
    KERNELS[0], "--kernels", help=f"What bounds the computation, comma-separated: {', '.join(KERNELS)}."
)
SKEW = typer.Option(
    "0", "--skew", metavar="US", help="Microseconds by which the last rank comes late, comma-separated."
)
REPETITIONS = repeat(5, "Rounds; each starts every job once.", "--repetitions")
SECONDS = typer.Option(0.1, "--seconds", min=0.0, help="Seconds that a block takes, about.")
TIMEOUT = timeout(60.0)
PLOTS = typer.Option(
    None, "--plots", metavar="FOLDER", help="Writes plots after the paper's figures 3 to 14 to FOLDER, as SVG."
)
RESUME = typer.Option(
    None, "--resume", metavar="FILE", help="Keeps what each job finds in FILE, and continues what FILE has."
)


def command(
    libs: str = LIBS,
    collectives: str = CHOSEN,
    ranks: Optional[str] = RANKS,
    nodes: int = NODES,
    cores: Optional[int] = CORES,
    sizes: Optional[str] = SIZES,
    modes: str = CHOSEN_MODES,
    algorithms: str = ALGORITHMS,
    computation: str = COMPUTATION,
    kernels: str = CHOSEN_KERNELS,
    skew: str = SKEW,
    repetitions: int = REPETITIONS,
    seconds: float = SECONDS,
    timeout: float = TIMEOUT,
    json: Optional[str] = JSON,
    plots: Optional[Path] = PLOTS,
    resume: Optional[Path] = RESUME,
    seed: Optional[int] = SEED,
) -> None:
    """Nonblocking collectives: start, compute, wait, with and without a progress thread, on a core of its own or not.
    Overlap, and what it costs: computation slowed, cores charged, and the time of the same work on the same cores."""
    build = catalog.build_dir()
    tables = overlap_plan.families(build)
    table = catalog.table(build)
    library_names = words("--libs", libs, [name for name, library in table.items() if library.family])
    chosen = words("--collectives", collectives, list(COLLECTIVES))
    cells = [
        Cell(*one)
        for one in product(
            chosen,
            numbers("--sizes", sizes or SIZES_OF_THE_PAPER, 1),
            _computations(computation),
            words("--kernels", kernels, list(KERNELS)),
            map(float, numbers("--skew", skew, 0)),
        )
    ]
    series: list[Series] = []
    missing: list[Result] = []
    for name, layout, mode, algorithm in product(
        library_names,
        _layouts(nodes, cores, ranks),
        list(dict.fromkeys([NONE, *words("--modes", modes, list(MODES))])),
        words("--algorithms", algorithms, overlap_plan.algorithms(tables)),
    ):
        library = table[name]
        family = tables[library.family]
        try:
            found = catalog.with_ranks(installation.find(library, build, "overlap"), layout.ranks, build)
            series.append(overlap_plan.series(found, family, layout, mode, algorithm, chosen))
            unpinned = [one for one in chosen if one not in series[-1].collectives]
            why = f"its setting has no {algorithm} for them"
        except (MissingError, PlanError) as reason:
            unpinned, why = chosen, str(reason)
        about = {"ranks": layout.ranks, "algorithm": algorithm, "mode": mode}
        missing += [results.skipped("overlap", name, one, why) | about for one in unpinned]
    _measure(
        [one for one in series if one.collectives], cells, missing,
        Limits(rounds=repetitions, seconds=seconds, iterations=1000, timeout=timeout), json, plots, resume, seed,
    )  # fmt: skip


def _measure(
    series: Sequence[Series], cells: Sequence[Cell], missing: Sequence[Result], limits: Limits,
    json: str | None, plots: Path | None, resume: Path | None, seed: int | None,
) -> None:  # fmt: skip
    session = Session(json, None, limits, seed)
    try:
        journal = Journal(resume, _study(series, cells, limits, session.machine))
    except (JournalError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--resume") from error
    with Bar(session.console) as bar:
        outcome = overlap_rounds.measure(series, cells, limits, session.seed, bar, journal)
    rows = [*overlap_rows.rows(outcome), *missing]
    show(session.console, rows)
    libraries = {" ".join(map(str, one.key)): one.started for one in outcome.records}
    end = session.end(rows, libraries, outcome.interrupted)
    if plots:
        from omnipgas_tools.overlap import plots as overlap_plots

        for path in overlap_plots.draw(plots, rows):
            session.console.print(f"Plot: {path}")
    raise end


def _study(
    series: Sequence[Series], cells: Sequence[Cell], limits: Limits, machine: dict[str, object]
) -> dict[str, object]:
    """What a journal must agree with: not how many rounds, so that there may be more."""
    return {
        "study": "omnipgas-overlap-1",
        "machine": [machine[name] for name in ("cpu", "cores", "kernel")],
        "series": sorted([*one.key, one.layout.n_node, one.layout.n_cpu] for one in series),
        "cells": [[one.collective, one.size, one.computation, one.kernel, one.skew_us] for one in sorted(cells)],
        "seconds": limits.seconds,
    }


def _computations(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",") if word.strip()]
    for word in found:
        try:
            usable = word == PAPER or float(word) > 0
        except ValueError:
            usable = False
        if not usable:
            raise typer.BadParameter(f"{word!r} is neither paper nor a number above 0", param_hint="--computation")
    return list(dict.fromkeys(found))


def _layouts(nodes: int, cores: int | None, ranks: str | None) -> list[Layout]:
    """One for each number of ranks."""
    here = tuple(catalog.affinity())
    n_cpu = cores or max(2, len(here) // nodes)
    every = [nodes << power for power in range(n_cpu.bit_length()) if 1 << power <= max(1, n_cpu // 2)]
    layouts = []
    for count in numbers("--ranks", ranks, 1) if ranks else every:
        if count % nodes:
            raise typer.BadParameter(f"{count} ranks cannot be divided among {nodes} nodes", param_hint="--ranks")
        try:
            layouts.append(Layout(nodes, n_cpu, count // nodes, here))
        except PlanError as error:
            raise typer.BadParameter(str(error), param_hint="--ranks") from error
    return layouts


COLUMNS = {
    "pure_us": "pure\nus", "pure_p99_us": "\np99", "init_us": "init\nus", "compute_us": "compute\nus",
    "wait_us": "wait\nus", "overall_us": "overall\nus", "overlap_percent": "overlap\n%",
    "compute_slowdown": "compute\nslowed", "cores_charged": "cores\ncharged",
}  # fmt: skip


def show(console: Console, rows: Sequence[Result]) -> None:
    """A table for each collective, number of ranks, computation, kernel and skew; then what went wrong and why."""
    measured = [row for row in rows if row["status"] == "ok"]
    kinds = ("op", "ranks", "computation", "kernel", "skew_us")
    for kind in dict.fromkeys(tuple(row[name] for name in kinds) for row in measured):
        mine = [row for row in measured if tuple(row[name] for name in kinds) == kind]
        console.print(_title(mine[0]), style="bold", highlight=False)
        console.print(_table(mine))
        for line in overlap_rows.conclusions(mine):
            console.print(line, highlight=False, soft_wrap=True)
    if emulations := dict.fromkeys(row["emulation"] for row in measured if row["emulation"]):
        console.print(f"Emulated: {'; '.join(emulations)}.", style="dim")
    problems(console, rows, "{library} {mode} {algorithm}, {ranks} ranks, {op}")


def _title(row: Result) -> str:
    late = f", last rank {row['skew_us']:g} us late" if row["skew_us"] else ""
    length = "of the paper" if row["computation"] == PAPER else f"{row['computation']} x the pure time"
    return (
        f"{row['op']}, n_node {row['n_node']}, n_cpu {row['n_cpu']}, p_node {row['p_node']}; computation {length},"
        f" bound by {row['kernel']}{late}"
    )


def _table(rows: Sequence[Result]) -> Table:
    columns = (f">{heading}" for heading in (*COLUMNS.values(), "overall of none\n[95 %]"))
    table = table_of(">size", "library", "algorithm", "mode", ">t_calc", *columns)
    for row in sorted(rows, key=lambda one: one["size"]):
        values = [figure(row[name]) if row[name] is not None else "" for name in COLUMNS]
        whole = row["overall_of_none"]
        decisive = f"{figure(whole['median'])} [{figure(whole['low'])}, {figure(whole['high'])}]" if whole else ""
        table.add_row(
            size_text(row["size"]), row["library"], row["algorithm"], row["mode"], str(row["t_calc"]), *values,
            decisive,
        )  # fmt: skip
    return table

# SPDX-License-Identifier: BSD-3-Clause
"""omni halo: strategies of halo exchange side by side."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import typer
from rich.console import Console

from omnipgas_tools import options
from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, PatternError, read, ring
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found, Hosts, MissingError
from omnipgas_tools.measure import network, results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.session import Session
from omnipgas_tools.report.terminal import figure, problems, table_of

SIZES = re.compile(r"([1-9]\d*)(?::([1-9]\d*))?")

RANKS = typer.Option(None, "--ranks", min=1, help="Ranks of the job. [2; with --pattern those that it names]")
NEIGHBORS = typer.Option(
    1, "--neighbors",
    help="Neighbours of each rank: the nearest on a ring, half on either side; of an odd number one is opposite.",
)  # fmt: skip
BYTES = typer.Option(
    "80000", "--bytes", metavar="N|A:B",
    help="Bytes each way with each neighbour; as A:B, from B with the nearest down to A.",
)  # fmt: skip
PATTERN = typer.Option(
    None, "--pattern", metavar="FILE", help='Reads the pattern instead of a ring: lines "sender receiver bytes".'
)
CHOSEN = typer.Option(
    "double-buffer,mpi", "--strategies",
    help=f"Strategies, comma-separated: {', '.join(halo_rounds.STRATEGIES)}, {halo_rounds.AUTO};"
    f" all: each but {halo_rounds.AUTO}.",
)  # fmt: skip
BASE = typer.Option(
    None, "--base", help="Strategy whose time divides that of the others. [mpi if measured, else the first]"
)
MPI = options.mpi(None, "MPI in whose processes all strategies run. [the first installed, if one needs MPI]")
CONDUIT = typer.Option(
    None, "--conduit",
    help=f"Conduit of strategies without MPI: {', '.join(halo_rounds.CONDUITS)}. [as the layer chooses; between hosts"
    " tcp]",
)  # fmt: skip
REPETITIONS = options.repeat(30, "Rounds at most; it stops earlier when the medians are certain.", "--repetitions")
SECONDS = typer.Option(0.02, "--seconds", min=0.0, help="Seconds that a block of exchanges takes, about.")
TIMEOUT = options.timeout(60.0)


def command(
    ranks: Optional[int] = RANKS,
    neighbors: int = NEIGHBORS,
    size: str = BYTES,
    pattern: Optional[Path] = PATTERN,
    strategies: str = CHOSEN,
    base: Optional[str] = BASE,
    mpi: Optional[str] = MPI,
    conduit: Optional[str] = CONDUIT,
    hosts: int = options.HOSTS,
    rate: Optional[int] = options.RATE,
    repetitions: int = REPETITIONS,
    seconds: float = SECONDS,
    timeout: float = TIMEOUT,
    json: Optional[str] = options.JSON,
    plot: Optional[Path] = options.PLOT,
    seed: Optional[int] = options.SEED,
) -> None:
    """Halo exchange, start and wait, by several strategies in one job: microseconds on the slowest rank, and the ratio
    to one of them. What landed is checked first."""
    chosen = _strategies(strategies)
    divisor = base or ("mpi" if "mpi" in chosen else chosen[0])
    if divisor not in chosen:
        raise typer.BadParameter(f"{divisor!r} is none of the --strategies {', '.join(chosen)}", param_hint="--base")
    shape = _pattern(ranks, neighbors, size, pattern)
    found, skipped = _job(chosen, mpi, shape)
    carrier = _conduit(conduit, hosts)
    limits = Limits(rounds=repetitions, min_rounds=min(repetitions, 5), seconds=seconds, timeout=timeout)
    session = Session(json, plot, limits, seed)
    with options.on_hosts(hosts, shape.ranks, rate) as there, options.Bar(session.console) as bar:
        found = _carried(found, carrier, there)
        measured = [one for one in chosen if one not in skipped]
        outcome = halo_rounds.measure(found, shape, measured, limits, session.seed, bar)
    rows = halo_rounds.rows(outcome, divisor)
    rows += [results.skipped("halo", found.name, *why) | {"ranks": shape.ranks} for why in skipped.items()]
    show(session.console, rows, outcome, options.between(hosts, rate))
    raise session.end(rows, outcome.started, outcome.interrupted, lambda plots, path: plots.halo(path, rows))


def _strategies(text: str) -> list[str]:
    known = [*halo_rounds.STRATEGIES, halo_rounds.AUTO]
    chosen = options.words("--strategies", text, [*known, "all"])
    if not chosen:
        raise typer.BadParameter("name at least one strategy", param_hint="--strategies")
    return list(dict.fromkeys(one for word in chosen for one in (halo_rounds.STRATEGIES if word == "all" else [word])))


def _pattern(ranks: int | None, neighbors: int, size: str, file: Path | None) -> Pattern:
    try:
        if file:
            return read(file, ranks)
        if not (sizes := SIZES.fullmatch(size)):
            raise typer.BadParameter(f"{size!r} is no number of bytes, nor two as in 64:6000", param_hint="--bytes")
        smallest, largest = int(sizes[1]), int(sizes[2] or sizes[1])
        return ring(ranks or 2, neighbors, smallest, largest)
    except PatternError as error:
        raise typer.BadParameter(str(error), param_hint="--pattern" if file else "--neighbors") from error


def _job(chosen: Sequence[str], mpi: str | None, pattern: Pattern) -> tuple[Found, dict[str, str]]:
    """Whose processes all run in, and the strategies that cannot, with the reason."""
    build = catalog.build_dir()
    table = catalog.table(build)
    mpis = [name for name, library in table.items() if library.is_mpi]
    if mpi and mpi not in mpis:
        raise typer.BadParameter(f"{mpi!r} is none of {', '.join(mpis)}", param_hint="--mpi")
    needs_mpi = any(one in halo_rounds.BY_MPI for one in chosen)
    reasons = []
    for name in [mpi] if mpi else [*(mpis if needs_mpi else []), "ompl"]:
        try:
            found = catalog.with_ranks(installation.find(table[name], build, "halo"), pattern.ranks, build)
            break
        except MissingError as missing:
            reasons.append(f"{name}: {missing}")
    else:
        raise typer.BadParameter("; ".join(reasons), param_hint="--mpi")
    skipped = {}
    if found.library.name == "ompl":
        skipped = {one: f"no MPI is here; {reasons[0]}" for one in chosen if one in halo_rounds.BY_MPI}
    return found, skipped


def _conduit(asked: str | None, hosts: int) -> str | None:
    """That of the strategies without MPI; none: as the layer chooses."""
    if hosts > 1:
        (one,) = options.words("--conduit", asked or "tcp", list(network.BETWEEN))
    elif asked:
        (one,) = options.words("--conduit", asked, list(halo_rounds.CONDUITS))
    else:
        return None
    return one


def _carried(found: Found, conduit: str | None, hosts: Hosts | None) -> Found:
    """The job on its hosts, with the conduit."""
    if conduit is None:
        return found
    if hosts is None:
        return halo_rounds.over(found, conduit)
    try:
        return network.spread(found, hosts, conduit)
    except MissingError as missing:
        raise typer.BadParameter(f"{found.name}: {missing}", param_hint="--mpi") from missing


def show(console: Console, rows: Sequence[Result], outcome: halo_rounds.Outcome, where: str) -> None:
    """The table, then what went wrong and why; `where`: of the title, may be empty."""
    pattern = outcome.pattern
    smallest, largest = (f"{size:,}" for size in pattern.sizes)
    sizes = largest if smallest == largest else f"{smallest} to {largest}"
    count = pattern.most_neighbors
    neighbors = f"{count} neighbour{'s' if count > 1 else ''}"
    console.print(
        f"Halo exchange of {pattern.ranks} ranks ({outcome.found.name}){where}, {neighbors},"
        f" {sizes} B each way; us on the slowest rank",
        style="bold", highlight=False,
    )  # fmt: skip
    base = next((row["halo"]["base"] for row in rows if "halo" in row), "")
    table = table_of("strategy", ">us", ">95 %\ninterval", f">of\n{base}", ">95 %\ninterval", right=2)
    for row in rows:
        name = row["op"]
        if row["status"] != "ok":
            table.add_row(name, row["status"])
            continue
        if name == halo_rounds.AUTO and (carried := row["halo"]["carried_by"]):
            name += f" ({carried})"
        table.add_row(name, *_texts(row["halo"]["exchange_us"]), *_texts(row["halo"]["of_base"]))
    console.print(table)
    problems(console, rows, "{op}")


def _texts(found: dict[str, float] | None) -> tuple[str, str]:
    return (figure(found["median"]), f"{figure(found['low'])} to {figure(found['high'])}") if found else ("", "")

# SPDX-License-Identifier: BSD-3-Clause
"""The omni command."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Optional

import typer
from rich.console import Console

from omnipgas_tools import CHECKOUT
from omnipgas_tools.commands import halo as halo_command
from omnipgas_tools.commands import libs as libraries
from omnipgas_tools.commands import memory as memory_command
from omnipgas_tools.commands import overlap as overlap_command
from omnipgas_tools.commands import partition, solve, study, tune
from omnipgas_tools.commands import rank as rank_command
from omnipgas_tools.commands import report as comparison
from omnipgas_tools.libraries import installation, peers
from omnipgas_tools.measure import endpoints, network, results, resuming, runner
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.model import commands
from omnipgas_tools.options import INTERRUPTED, TWO_HOSTS, Bar, console_beside, numbers, on_hosts, words
from omnipgas_tools.report import performance
from omnipgas_tools.report import terminal as report
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.target import Target

LIBRARIES = "raw,ompl,mpich,openmpi,intel,mpich-debian,openmpi-debian"
NETWORK_LIBRARIES = "ofi,ucx,ompl,mpich,openmpi"
PINGPONG_SIZES = ",".join(str(1 << p) for p in range(2, 23))  # 4 B to 4 MiB

app = typer.Typer(
    help="Measures communication layers with threads, each beside a hand-written twin.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("halo")(halo_command.command)
app.command("overlap")(overlap_command.command)
app.command("report")(comparison.command)
app.command("memory")(memory_command.command)
app.command("rank")(rank_command.command)
app.add_typer(commands.app, name="model")
app.add_typer(libraries.app, name="libs")
app.command()(solve.cg)
app.command()(solve.spmv)
app.command("partition")(partition.command)
app.add_typer(study.app, name="study")
app.add_typer(tune.app, name="tune")

# Options as default values and Optional[]: the typer of Debian 12 knows no other way.
LIBS = typer.Option(
    None, "--libs",
    help="Libraries, comma-separated, or all that omni libs lists. "
    f"[{LIBRARIES}; with --hosts 2 or --over {NETWORK_LIBRARIES}]",
)  # fmt: skip
AS_PROCESSES = typer.Option(
    False, "--processes", help="Also T jobs of one thread at once, beside T threads of one job."
)
RESUME = typer.Option(
    False, "--resume", help="Go on where the result file of --json ends: keep what it has, measure the rest."
)
OVER = typer.Option(
    None, "--over", metavar="TRANSPORTS",
    help=f"What OMPL and its twins go over instead of memory: {', '.join(network.TRANSPORTS)}. [with --hosts 2: tcp]",
)  # fmt: skip
POOLS = typer.Option("1,2,3,4,8", "--pools", help="Endpoints per rank, comma-separated.")
PEER_LIBS = typer.Option(
    "mpich,openmpi", "--libs",
    help="Libraries to set beside it, comma-separated; --pools also goes for those with endpoints to choose.",
)  # fmt: skip
POOL_HOSTS = typer.Option(2, "--hosts", min=1, max=2, help="1: within a host; libraries then go through memory.")
ONE_OVER = typer.Option(
    None, "--over", help=f"What OMPL and its twin go over: {', '.join(network.TRANSPORTS)}. [tcp; one host: ucx-shm]"
)
REPEAT = typer.Option(
    None, "--repeat", min=1,
    help=f"Rounds at most; fewer once the medians are sure. [{runner.FULL.rounds}; quick: {runner.QUICK.rounds}]",
)  # fmt: skip
STARTS = typer.Option(
    None, "--starts", min=1,
    help=f"Of the jobs, among which the rounds are divided. [{runner.FULL.starts}; quick: {runner.QUICK.starts}]",
)  # fmt: skip
QUICKLY = typer.Option(False, "--quick", help="Fewer and shorter rounds, fewer sizes.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Plot, PNG or SVG.")
SEED = typer.Option(None, "--seed", help="Of the order of measurements. [random]")
PINGPONG_OPS = typer.Option("put,sendrecv", "--op", help="put (put + flag), putsignal (both in one call), sendrecv.")
RATE_OPS = typer.Option(
    None, "--op", help="put (put + flag), putonly; between hosts put, putsignal, sendrecv. [put,putonly; put,sendrecv]"
)
SIZES = typer.Option(None, "--sizes", help="Bytes, at least 4. [powers of two, 4 B to 4 MiB]")
SIZE = typer.Option(8, "--size", min=4, help="Bytes of a message.")
PERCENTILES = typer.Option(
    False, "--percentiles", help="Plot p50 and p99 beside the slowest thread's mean."
)
GROUPS = typer.Option(
    ",".join(targets.GROUPS), "--groups", help=f"Which: {', '.join(targets.GROUPS)}.", show_default="all"
)
GIVEN = typer.Option(
    None, "--from", metavar="FILE",
    help="Result files of omni pingpong and omni rate, --libs all, for the groups comparison and ranking. [quick runs]",
)  # fmt: skip
GIVEN_BESIDE = typer.Option(None, "--beside", metavar="FILE", help="Those of a second run, for the group ranking.")
PUBLISH = typer.Option(False, "--publish", help="Also put these groups into docs/results/ and docs/performance.md.")


def timeout_option(default: float) -> Any:
    return typer.Option(
        None, "--timeout", min=0.1,
        help=f"Seconds until one block counts as hung. [{default:g}; quick: {runner.QUICK.timeout:g}]",
    )  # fmt: skip


THREADS = typer.Option("1,2,4,8", "--threads", help="Threads per rank, comma-separated.")
PINGPONG_LIMIT, RATE_LIMIT = 30.0, 10.0  # seconds
PINGPONG_TIMEOUT, RATE_TIMEOUT = timeout_option(PINGPONG_LIMIT), timeout_option(RATE_LIMIT)


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    bench: str
    libs: list[str]
    ops: list[str]
    threads: list[int]
    sizes: list[int]
    limits: runner.Limits
    seed: int
    json: str | None
    plot: Path | None
    percentiles: bool = False
    hosts: int = 1
    over: tuple[str, ...] = ()
    processes: bool = False
    resume: bool = False


@app.command()
def pingpong(
    libs: Optional[str] = LIBS,
    op: str = PINGPONG_OPS,
    threads: str = THREADS,
    sizes: Optional[str] = SIZES,
    repeat: Optional[int] = REPEAT,
    starts: Optional[int] = STARTS,
    quick: bool = QUICKLY,
    timeout: Optional[float] = PINGPONG_TIMEOUT,
    processes: bool = AS_PROCESSES,
    json: Optional[str] = JSON,
    resume: bool = RESUME,
    plot: Optional[Path] = PLOT,
    percentiles: bool = PERCENTILES,
    hosts: int = TWO_HOSTS,
    over: Optional[str] = OVER,
    seed: Optional[int] = SEED,
) -> None:
    """Latency and bandwidth between thread i of one rank and thread i of another."""
    transports = _transports(hosts, over)
    usual = ",".join(map(str, runner.QUICK_SIZES)) if quick else PINGPONG_SIZES
    chosen = numbers("--sizes", sizes or usual, 4)
    request = Request(
        bench="pingpong",
        libs=_libraries(libs, transports),
        ops=words("--op", op, ["put", "putsignal", "sendrecv"]),
        threads=numbers("--threads", threads, 1),
        sizes=chosen,
        limits=_limits(quick, repeat, timeout, PINGPONG_LIMIT, starts),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        json=json,
        plot=plot,
        percentiles=percentiles,
        hosts=hosts,
        over=transports,
        processes=processes,
        resume=resume,
    )
    raise typer.Exit(measure(request))


@app.command()
def rate(
    libs: Optional[str] = LIBS,
    op: Optional[str] = RATE_OPS,
    threads: str = THREADS,
    size: int = SIZE,
    repeat: Optional[int] = REPEAT,
    starts: Optional[int] = STARTS,
    quick: bool = QUICKLY,
    timeout: Optional[float] = RATE_TIMEOUT,
    json: Optional[str] = JSON,
    resume: bool = RESUME,
    plot: Optional[Path] = PLOT,
    hosts: int = TWO_HOSTS,
    over: Optional[str] = OVER,
    seed: Optional[int] = SEED,
) -> None:
    """Messages per second to a passive target, which sleeps outside the library; over a network (--hosts 2, --over) to
    one that takes each as it comes."""
    transports = _transports(hosts, over)
    known = ["put", "putsignal", "sendrecv"] if transports else ["put", "putonly"]
    request = Request(
        bench="flow" if transports else "rate",
        libs=_libraries(libs, transports),
        ops=words("--op", op or ("put,sendrecv" if transports else "put,putonly"), known),
        threads=numbers("--threads", threads, 1),
        sizes=[size],
        limits=replace(_limits(quick, repeat, timeout, RATE_LIMIT, starts), iterations=1 << 22),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        json=json,
        plot=plot,
        hosts=hosts,
        over=transports,
        resume=resume,
    )
    raise typer.Exit(measure(request))


@app.command("endpoints")
def measure_endpoints(
    threads: str = THREADS,
    pools: str = POOLS,
    hosts: int = POOL_HOSTS,
    over: Optional[str] = ONE_OVER,
    libs: str = PEER_LIBS,
    repeat: Optional[int] = REPEAT,
    quick: bool = QUICKLY,
    timeout: Optional[float] = PINGPONG_TIMEOUT,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    seed: Optional[int] = SEED,
) -> None:
    """How few endpoints suffice: threads on pools of different size: latency, rate, failed claims and memory per peer,
    beside the twin and libraries that let one choose, or have one for each thread."""
    possible = [t for t in network.TRANSPORTS if hosts == 1 or t not in network.INSIDE_ONE_HOST]
    request = Request(
        bench="pingpong",
        libs=words("--libs", libs, list(peers.table())) if libs else [],
        ops=["put", "sendrecv"],
        threads=numbers("--threads", threads, 1),
        sizes=[endpoints.SIZE],
        limits=_limits(quick, repeat, timeout, PINGPONG_LIMIT),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        json=json,
        plot=plot,
        hosts=hosts,
        over=(words("--over", over or ("tcp" if hosts == 2 else "ucx-shm"), possible)[0],),
    )
    raise typer.Exit(_endpoints(request, numbers("--pools", pools, 1)))


def _endpoints(request: Request, sizes: list[int]) -> int:
    """Measures, reports; the exit status."""
    console = console_beside(request.json)
    build = peers.build_dir()
    machine, started = results.machine(), datetime.now(UTC)
    transport = request.over[0]
    with on_hosts(request.hosts, peers.RANKS) as hosts, Bar(console) as bar:
        twin = replace(request, libs=[network.TRANSPORTS[transport][0], *request.libs])
        contenders, rows = _contenders(twin, hosts)
        try:
            here = peers.find(peers.table(build)[endpoints.LAYER], build)
        except peers.MissingError as missing:
            raise typer.BadParameter(str(missing), param_hint=endpoints.LAYER) from missing
        mine = [runner.Contender(one, "put") for one in endpoints.pools(here, transport, hosts, sizes)]
        all_of_them = mine + endpoints.swept(contenders, sizes)
        outcomes = endpoints.measure(all_of_them, request.threads, request.limits, request.seed, bar)
    costs = {}
    measured = {cell.contender.library for cell in outcomes[1].cells if not outcomes[1].interrupted}
    for found in {one.library: one.found for one in all_of_them if one.library in measured}.values():
        if not found.endpoints or (found.hosts and found.peer.name != endpoints.LAYER):
            continue  # what others take over a network is not known
        try:
            costs[found.name] = endpoints.peer_cost(build, found)
        except (peers.MissingError, WorkerError, OSError) as error:
            console.print(f"memory per peer of {found.name}: {error}", style="yellow", markup=False)
    rows = endpoints.rows(outcomes, costs) + rows
    endpoints.show(console, rows, request.hosts)
    return _finish(console, request, outcomes, rows, (machine, started))


@app.command("figures")
def measure_figures(
    groups: str = GROUPS,
    given: Optional[list[Path]] = GIVEN,
    beside: Optional[list[Path]] = GIVEN_BESIDE,
    publish: bool = PUBLISH,
) -> None:
    """Measure the "must show" figures; one line each: name, value, bound, met or missed."""
    wanted = words("--groups", groups, list(targets.GROUPS))
    if beside and not given:
        raise typer.BadParameter("needs --from, the files of the first run", param_hint="--beside")
    runs = [comparison.side(files) for files in (given, beside) if files]
    console = Console(stderr=True)
    build = peers.build_dir()
    found: list[Target] = []
    interrupted = False
    with Bar(console) as bar:
        bench = Bench(build, bar, runs)
        try:
            for figure in targets.measure(bench, wanted):
                found.append(figure)
                print(figure.line(), flush=True)
        except KeyboardInterrupt:
            interrupted = True
    path = targets.write(build / "results", bench.groups)
    bounded = [figure for figure in found if figure.bound is not None]
    met = sum(figure.met for figure in bounded)
    console.print(f"{met} of {len(bounded)} bounds met. Result file: {path}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if publish:
        performance.publish(path, CHECKOUT / "docs", list(targets.GROUPS))


def measure(request: Request) -> int:
    """Measures, reports; the exit status."""
    console = console_beside(request.json)
    machine, started = results.machine(), datetime.now(UTC)
    kept = resuming.kept(request.json, request.bench, asdict(request.limits)) if request.resume else resuming.Kept()

    complete: list[results.Result] = []

    def keep(outcome: runner.Outcome, cells: Sequence[runner.Cell]) -> None:
        """What is complete so far goes into the file, as of a run that was interrupted."""
        complete.extend(map(results.from_cell, cells))
        command = results.command(started, request.seed, request.limits, kept.libraries | outcome.started, True)
        results.write(str(request.json), results.document(machine, command, rows + kept.rows + complete))

    with on_hosts(request.hosts, peers.RANKS) as hosts, Bar(console) as bar:
        contenders, rows = _contenders(request, hosts)
        done = kept.apply(contenders)
        outcome = runner.run_interleaved(
            request.bench,
            contenders,
            request.threads,
            request.sizes,
            request.limits,
            seed=request.seed,
            progress=bar,
            done=done,
            keep=keep if request.json not in (None, "-") else None,
        )
    outcome.started = kept.libraries | outcome.started
    rows += kept.rows + [results.from_cell(cell) for cell in outcome.cells]
    report.show(console, request.bench, outcome, rows)
    if done:
        console.print(f"{len(kept.rows)} results of {request.json} were kept.")
    return _finish(console, request, [outcome], rows, (machine, started))


def _finish(
    console: Console,
    request: Request,
    outcomes: Sequence[runner.Outcome],
    rows: list[results.Result],
    where: tuple[dict[str, Any], datetime],
) -> int:
    """Writes what was asked for; the exit status."""
    machine, started = where
    interrupted = any(outcome.interrupted for outcome in outcomes)
    if request.json:
        libraries = {name: how for outcome in outcomes for name, how in outcome.started.items()}
        command = results.command(started, request.seed, request.limits, libraries, interrupted)
        results.write(request.json, results.document(machine, command, rows))
    if request.plot:
        from omnipgas_tools.report import plots

        if len(outcomes) > 1:
            plots.endpoints(request.plot, rows)
        else:
            plots.plot(request.plot, request.bench, rows, request.percentiles)
        console.print(f"Plot: {request.plot}")
    if interrupted:
        return INTERRUPTED
    return 0 if any(row["status"] == "ok" for row in rows) else 1


def _contenders(request: Request, hosts: peers.Hosts | None) -> tuple[list[runner.Contender], list[results.Result]]:
    """What can be measured, and results that say why the rest cannot."""
    build = peers.build_dir()
    contenders, rows = [], []
    for name in request.libs:
        peer = peers.table(build)[name]
        ops = [op for op in request.ops if op in peer.ops]
        try:
            here = installation.find(peer, build)
            found = network.contenders(here, list(request.over), hosts)
            if request.processes and not hosts:
                found = [*found, *(replace(one, processes=True) for one in found)]
            contenders += [runner.Contender(one, op) for one in found for op in ops]
        except peers.MissingError as missing:
            rows += [results.skipped(request.bench, name, op, str(missing)) for op in ops]
    return contenders, rows


def _limits(
    quick: bool, repeat: int | None, timeout: float | None, default: float, starts: int | None = 1
) -> runner.Limits:
    limits = runner.QUICK if quick else replace(runner.FULL, timeout=default)
    rounds, starts = repeat or limits.rounds, starts or limits.starts
    starts = min(starts, rounds)
    fewest = min(rounds, limits.min_rounds)
    return replace(limits, rounds=rounds, min_rounds=fewest, starts=starts, timeout=timeout or limits.timeout)


def _transports(hosts: int, over: str | None) -> tuple[str, ...]:
    """What is measured over; nothing: memory."""
    chosen = over or ("tcp" if hosts == 2 else "")
    return tuple(words("--over", chosen, list(network.TRANSPORTS)))


def _libraries(libs: str | None, over: tuple[str, ...]) -> list[str]:
    """Those asked for, or those that fit; a twin only if it goes over one of the transports."""
    if libs and libs != "all":
        return words("--libs", libs, list(peers.table()))
    twins = {network.TRANSPORTS[transport][0] for transport in over}
    chosen = list(peers.table()) if libs else (NETWORK_LIBRARIES if over else LIBRARIES).split(",")
    return [name for name in chosen if name not in ("ofi", "ucx") or name in twins]


def main() -> None:
    """Entry point. SIGTERM is taken as Ctrl-C: what was started is ended, what was measured is kept."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()


if __name__ == "__main__":
    main()

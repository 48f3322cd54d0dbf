# SPDX-License-Identifier: BSD-3-Clause
"""The omni command."""

from __future__ import annotations

import secrets
import signal
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from omnipgas import __version__, figures, peers, performance, report, results, runner
from omnipgas.figure import Figure

LIBRARIES = "raw,ompl,mpich,openmpi,intel,mpich-debian,openmpi-debian"
PINGPONG_SIZES = ",".join(str(1 << p) for p in range(2, 23))  # 4 B to 4 MiB
QUICK_SIZES = "4,64,1024,4096,16384,65536,262144,1048576,4194304"
QUICK = runner.Limits(rounds=5, min_rounds=3, seconds=0.01, cell_seconds=1.0)
FILE_WIDTH = 140  # characters of a table that goes into a file
INTERRUPTED = 130  # exit status after Ctrl-C

app = typer.Typer(
    help="Measures communication layers with threads, each beside a hand-written twin.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# Options as default values and Optional[]: the typer of Debian 12 knows no other way.
LIBS = typer.Option(LIBRARIES, "--libs", help="Libraries, comma-separated.")
REPEAT = typer.Option(
    None, "--repeat", min=1, help="Rounds at most; fewer once the medians are sure. [30; quick: 5]"
)
QUICKLY = typer.Option(False, "--quick", help="Fewer and shorter rounds, fewer sizes.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Plot, PNG or SVG.")
SEED = typer.Option(None, "--seed", help="Of the order of measurements. [random]")
PINGPONG_OPS = typer.Option("put,sendrecv", "--op", help="put (put + flag), sendrecv.")
RATE_OPS = typer.Option("put,putonly", "--op", help="put (put + flag), putonly.")
SIZES = typer.Option(None, "--sizes", help="Bytes, at least 4. [powers of two, 4 B to 4 MiB]")
SIZE = typer.Option(8, "--size", min=4, help="Bytes of a message.")
PERCENTILES = typer.Option(
    False, "--percentiles", help="Plot p50 and p99 beside the slowest thread's mean."
)
GROUPS = typer.Option(
    ",".join(figures.GROUPS), "--groups", help=f"Which: {', '.join(figures.GROUPS)}."
)
PUBLISH = typer.Option(False, "--publish", help="Also put these groups into docs/results/ and docs/performance.md.")


def threads_option(default: str) -> Any:
    return typer.Option(default, "--threads", help="Threads per rank, comma-separated.")


def timeout_option(default: float) -> Any:
    return typer.Option(default, "--timeout", min=0.1, help="Seconds until one block counts as hung.")


PINGPONG_THREADS, RATE_THREADS = threads_option("1,2,4,8"), threads_option("1,2")
PINGPONG_TIMEOUT, RATE_TIMEOUT = timeout_option(30.0), timeout_option(10.0)


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


@app.command()
def pingpong(
    libs: str = LIBS,
    op: str = PINGPONG_OPS,
    threads: str = PINGPONG_THREADS,
    sizes: Optional[str] = SIZES,
    repeat: Optional[int] = REPEAT,
    quick: bool = QUICKLY,
    timeout: float = PINGPONG_TIMEOUT,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    percentiles: bool = PERCENTILES,
    seed: Optional[int] = SEED,
) -> None:
    """Latency and bandwidth between thread i of one rank and thread i of another."""
    chosen = _numbers("--sizes", sizes or (QUICK_SIZES if quick else PINGPONG_SIZES), 4)
    request = Request(
        bench="pingpong",
        libs=_words("--libs", libs, list(peers.table())),
        ops=_words("--op", op, ["put", "sendrecv"]),
        threads=_numbers("--threads", threads, 1),
        sizes=chosen,
        limits=_limits(quick, repeat, timeout),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        json=json,
        plot=plot,
        percentiles=percentiles,
    )
    raise typer.Exit(measure(request))


@app.command()
def rate(
    libs: str = LIBS,
    op: str = RATE_OPS,
    threads: str = RATE_THREADS,
    size: int = SIZE,
    repeat: Optional[int] = REPEAT,
    quick: bool = QUICKLY,
    timeout: float = RATE_TIMEOUT,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    seed: Optional[int] = SEED,
) -> None:
    """Messages per second to a passive target, which sleeps outside the library."""
    request = Request(
        bench="rate",
        libs=_words("--libs", libs, list(peers.table())),
        ops=_words("--op", op, ["put", "putonly"]),
        threads=_numbers("--threads", threads, 1),
        sizes=[size],
        limits=replace(_limits(quick, repeat, timeout), iterations=1 << 22),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        json=json,
        plot=plot,
    )
    raise typer.Exit(measure(request))


@app.command("figures")
def measure_figures(
    groups: str = GROUPS,
    publish: bool = PUBLISH,
) -> None:
    """Measure the "must show" figures; one line each: name, value, bound, met or missed."""
    wanted = _words("--groups", groups, list(figures.GROUPS))
    console = Console(stderr=True)
    build = peers.build_dir()
    found: list[Figure] = []
    interrupted = False
    with Bar(console) as bar:
        bench = figures.Bench(build, bar)
        try:
            for figure in figures.measure(bench, wanted):
                found.append(figure)
                print(figure.line(), flush=True)
        except KeyboardInterrupt:
            interrupted = True
    path = figures.write(build / "results", bench.groups)
    met = sum(figure.met for figure in found)
    console.print(f"{met} of {len(found)} bounds met. Result file: {path}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if publish:
        performance.publish(path, Path(__file__).absolute().parents[2] / "docs", list(figures.GROUPS))


def measure(request: Request) -> int:
    """Measures, reports; the exit status."""
    console = Console(stderr=request.json == "-")
    if not console.is_terminal:
        console.width = FILE_WIDTH
    contenders, rows = _contenders(request)
    machine, started = results.machine(), datetime.now(UTC)
    with Bar(console) as bar:
        outcome = runner.run_interleaved(
            request.bench,
            contenders,
            request.threads,
            request.sizes,
            request.limits,
            seed=request.seed,
            progress=bar,
        )
    rows += [results.from_cell(cell) for cell in outcome.cells]
    report.show(console, request.bench, outcome, rows)
    if request.json:
        command = _command(request, outcome, started)
        results.write(request.json, results.document(machine, command, rows))
    if request.plot:
        from omnipgas import plots  # slow to load, and seldom wanted

        plots.plot(request.plot, request.bench, rows, request.percentiles)
        console.print(f"Plot: {request.plot}")
    if outcome.interrupted:
        return INTERRUPTED
    return 0 if any(row["status"] == "ok" for row in rows) else 1


class Bar(runner.Progress):
    """A progress bar, on a terminal."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            BarColumn(20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def plan(self, cells: int) -> None:
        """So many cells will be measured."""
        self._bar.update(self._task, total=cells)

    def at(self, what: str) -> None:
        """This is being done now."""
        self._bar.update(self._task, description=what)

    def done(self, cell: runner.Cell) -> None:
        """A cell is finished."""
        self._bar.advance(self._task)


def _contenders(request: Request) -> tuple[list[runner.Contender], list[results.Result]]:
    """What can be measured, and results that say why the rest cannot."""
    build = peers.build_dir()
    contenders, rows = [], []
    for name in request.libs:
        peer = peers.table(build)[name]
        ops = [op for op in request.ops if op in peer.ops]
        try:
            found = peers.find(peer, build)
            contenders += [runner.Contender(found, op) for op in ops]
        except peers.MissingError as missing:
            rows += [results.skipped(request.bench, name, op, str(missing)) for op in ops]
    return contenders, rows


def _command(request: Request, outcome: runner.Outcome, started: datetime) -> dict[str, Any]:
    return {
        "omni": __version__,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "interrupted": outcome.interrupted,
        "seed": request.seed,
        "limits": asdict(request.limits),
        "libraries": outcome.started,
    }


def _limits(quick: bool, repeat: int | None, timeout: float) -> runner.Limits:
    limits = replace(QUICK if quick else runner.Limits(), timeout=timeout)
    if repeat is None:
        return limits
    return replace(limits, rounds=repeat, min_rounds=min(repeat, limits.min_rounds))


def _words(option: str, text: str, known: list[str]) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(known)}", param_hint=option)
    return list(dict.fromkeys(words))


def _numbers(option: str, text: str, least: int) -> list[int]:
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no list of numbers", param_hint=option) from error
    if min(numbers) < least:
        raise typer.BadParameter(f"{min(numbers)} is below {least}", param_hint=option)
    return list(dict.fromkeys(numbers))


def main() -> None:
    """Entry point. SIGTERM is taken as Ctrl-C: what was started is ended, what was measured is kept."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()


if __name__ == "__main__":
    main()

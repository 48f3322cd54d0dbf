# SPDX-License-Identifier: BSD-3-Clause
"""What the commands share: options that many of them have, lists among their values, hosts, the console with a bar for
their progress, and how they end.

Options are default values and Optional[]: the typer of Debian 12 knows no other way."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from omnipgas_tools.libraries.catalog import Hosts
from omnipgas_tools.measure import network, rounds

FILE_WIDTH = 140  # characters of a table that goes into a file
INTERRUPTED = 130  # exit status after Ctrl-C
MOST_HOSTS = 4
TRANSPORTS = ", ".join(network.TRANSPORTS)

JSON = typer.Option(None, "--json", metavar="FILE", help="Writes the results as JSON to FILE; - is standard output.")
PLOT = typer.Option(None, "--plot", metavar="FILE", help="Writes a plot to FILE, as PNG or SVG by its suffix.")
SEED = typer.Option(None, "--seed", help="Seed of the order of measurements. [random]")
TWO_HOSTS = typer.Option(1, "--hosts", min=1, max=2, help="Hosts; 2 puts each rank into a network namespace (root).")
HOSTS = typer.Option(
    1, "--hosts", min=1, max=MOST_HOSTS,
    help="Hosts, which are network namespaces (root); each has the same number of ranks, in order.",
)  # fmt: skip
RATE = typer.Option(None, "--rate", metavar="MBIT", min=1, help="Limit of the links between hosts, in Mbit/s. [none]")
GENERATE = typer.Option(
    None, "--generate", metavar="WHAT",
    help="Generates the matrix: 27pt:N, 7pt:N or aniso:N:WX,WY,WZ; N may be NXxNYxNZ.",
)  # fmt: skip
MATRIX = typer.Option(
    None, "--matrix", metavar="FILE", help="Reads the matrix: Matrix Market, Harwell-Boeing or Rutherford-Boeing."
)


def group(help: str, **how: Any) -> typer.Typer:
    """Commands below one name. Help texts are printed as they are written: brackets and colons are no markup."""
    return typer.Typer(help=help, rich_markup_mode=None, pretty_exceptions_enable=False, **how)


def threads(default: str) -> Any:
    """--threads of a command that measures several counts."""
    return typer.Option(default, "--threads", help="Threads per rank, comma-separated.")


def libs(default: str | None, help: str) -> Any:
    """--libs; `help` says what else than names it may be."""
    return typer.Option(default, "--libs", help=f"Libraries to measure, comma-separated{help}")


def over(default: str | None, help: str, metavar: str | None = None) -> Any:
    """--over; `help`: what goes over it, and its default."""
    return typer.Option(default, "--over", metavar=metavar, help=help.format(transports=TRANSPORTS))


def mpi(default: str | None, help: str, metavar: str | None = None) -> Any:
    """--mpi, a name of the table of libraries."""
    return typer.Option(default, "--mpi", metavar=metavar, help=help)


def sizes(default: str | None, help: str, *also: str) -> Any:
    """--sizes, a list of bytes unless `help` says otherwise; `also`: other spellings."""
    return typer.Option(default, "--sizes", *also, help=help)


def repeat(default: int | None, help: str, *also: str) -> Any:
    """--repeat, which some commands also spell --repetitions."""
    return typer.Option(default, *also, "--repeat", min=1, help=help)


def quick(help: str = "Measures fewer and shorter rounds, and fewer sizes.") -> Any:
    """--quick."""
    return typer.Option(False, "--quick", help=help)


def timeout(seconds: float | None, what: str = "one block counts as hung", default: str = "") -> Any:
    """--timeout; `default`: what it says of its default, if that depends on other options."""
    return typer.Option(seconds, "--timeout", min=0.1, help=f"Seconds until {what}.{default}")


def seed(default: int, what: str) -> Any:
    """--seed of a command whose order is the same at each call."""
    return typer.Option(default, "--seed", help=f"Seed of {what}.")


def matrix_source(generate: str | None, matrix: Path | None) -> str:
    """The matrix of GENERATE and MATRIX, as the solver's programs are told it."""
    if (generate is None) == (matrix is None):
        raise typer.BadParameter("give either --generate or --matrix")
    return f"--generate={generate}" if matrix is None else f"--matrix={matrix}"


def order(seed: int | None) -> int:
    """The seed that was asked for, or a random one."""
    return secrets.randbelow(2**31) if seed is None else seed


def check_writable(path: str | Path | None, option: str) -> None:
    """Ends the command before it measures if its result could not be written there; - is standard output."""
    if path is None or str(path) == "-":
        return
    place = Path(path)
    folder = place.absolute().parent
    if place.is_dir():
        reason = "it is a folder"
    elif not folder.is_dir():
        reason = f"there is no folder {folder}"
    elif not os.access(place if place.exists() else folder, os.W_OK):
        reason = "permission denied"
    else:
        return
    raise typer.BadParameter(f"{path} cannot be written: {reason}", param_hint=option)


def refuse(why: object) -> typer.Exit:
    """The end of a command that cannot go on."""
    print(f"omni: {why}", file=sys.stderr)
    return typer.Exit(1)


def fail(why: object, cause: BaseException | None = None) -> NoReturn:
    """Ends a command of omni model, or a study."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    console.print(f"error: {why}", style="red", soft_wrap=True)
    raise typer.Exit(1) from cause


@contextmanager
def failing(*errors: type[Exception]) -> Iterator[None]:
    """These errors end a command as fail() does, with their text; so does a file that cannot be used."""
    try:
        yield
    except errors as error:
        fail(error, error)
    except BrokenPipeError:  # the reader has seen enough
        raise typer.Exit(0) from None
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{error.filename}: {error.strerror}", error)


def console_beside(json: str | None) -> Console:
    """For the report; the result file may want standard output."""
    return _wide(Console(stderr=json == "-", markup=False, emoji=False))


def progress_console() -> Console:
    """For what a long command does meanwhile, and for its errors: standard error."""
    return _wide(Console(stderr=True, highlight=False, markup=False, emoji=False))


def _wide(console: Console) -> Console:
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


class Bar(rounds.Progress):
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

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def plan(self, parts: int) -> None:
        """So many parts will be measured."""
        self._bar.update(self._task, total=parts)

    def at(self, what: str) -> None:
        """This is being done now."""
        self._bar.update(self._task, description=what)

    def done(self) -> None:
        """One of them is finished."""
        self._bar.advance(self._task)


def words(option: str, text: str, known: list[str]) -> list[str]:
    """Those of a comma-separated list, once each; others than the known end the command."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    for word in found:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(known)}", param_hint=option)
    return list(dict.fromkeys(found))


def numbers(option: str, text: str, least: int) -> list[int]:
    """Those of a comma-separated list, once each; what is none or below the least ends the command."""
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no list of numbers", param_hint=option) from error
    if min(found) < least:
        raise typer.BadParameter(f"{min(found)} is below {least}", param_hint=option)
    return list(dict.fromkeys(found))


@contextmanager
def on_hosts(count: int, ranks: int, rate: int | None = None) -> Iterator[Hosts | None]:
    """So many hosts for the ranks, over links of a rate; None for one host: this machine as it is. What cannot be ends
    the command."""
    if rate is not None and count == 1:
        raise typer.BadParameter("it limits the links between hosts: give --hosts 2 with it", param_hint="--rate")
    if ranks < count:
        raise typer.BadParameter(f"{count} hosts need as many ranks: give --ranks {count}", param_hint="--hosts")
    if count == 1:
        yield None
        return
    if reason := network.why_no_hosts():
        raise typer.BadParameter(reason, param_hint="--hosts")
    with network.some_hosts(count, ranks, rate) as hosts:
        yield hosts


def between(hosts: int, rate: int | None) -> str:
    """Of a title: what on_hosts() made; nothing for one host."""
    return "" if hosts == 1 else f" on {hosts} hosts" + (f", {rate} Mbit/s" if rate else "")

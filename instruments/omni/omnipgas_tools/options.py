# SPDX-License-Identifier: BSD-3-Clause
"""What the commands share: the console, a bar for their progress, lists among their options, hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from omnipgas_tools.libraries.peers import Hosts
from omnipgas_tools.measure import network, runner

FILE_WIDTH = 140  # characters of a table that goes into a file
INTERRUPTED = 130  # exit status after Ctrl-C
MOST_HOSTS = 4

TWO_HOSTS = typer.Option(1, "--hosts", min=1, max=2, help="2: a network namespace for each rank; needs root.")
HOSTS = typer.Option(
    1, "--hosts", min=1, max=MOST_HOSTS, help="Network namespaces, as many of the ranks on each, in order; needs root."
)
RATE = typer.Option(None, "--rate", metavar="MBIT", min=1, help="Limit of the links between hosts, Mbit/s.")


def refuse(why: object) -> typer.Exit:
    """The end of a command that cannot go on."""
    print(f"omni: {why}", file=sys.stderr)
    return typer.Exit(1)


def console_beside(json: str | None) -> Console:
    """For the report; the result file may want standard output."""
    console = Console(stderr=json == "-")
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


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

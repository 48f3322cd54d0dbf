# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with its MPI's or this layer's interposer, and says what was recorded."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from omnipgas_tools import files
from omnipgas_tools.model import traces
from omnipgas_tools.model.build_tracers import Tracer
from omnipgas_tools.model.traces import Summary, TraceError

MOST_ROWS = 32  # of the table


def prepare(out: Path) -> None:
    """Makes the folder; one with a trace in it is refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        old = sorted(out.glob(traces.RANK_FILES))
    except OSError as error:
        raise TraceError(f"{out}: {error.strerror}") from error
    if old:
        raise TraceError(f"{out} holds a trace already ({old[0].name}): remove it, or choose another folder")
    if not os.access(out, os.W_OK):
        raise TraceError(f"{out} cannot be written")


def run(command: list[str], tracer: Tracer, out: Path) -> int:
    """Runs the program to its end; its exit status, as a shell gives it. Ctrl-C is the program's to obey."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            command,
            env=tracer.environment(out),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
        ) as process:
            status = process.wait()
    except OSError as error:
        raise typer.BadParameter(f"{command[0]}: {error.strerror}") from error
    finally:
        signal.signal(signal.SIGINT, old)
    return status if status >= 0 else 128 - status


def report(console: Console, out: Path) -> list[Summary]:
    """Prints what was recorded; the ranks' summaries if the trace is whole."""
    try:
        ranks, problem = traces.summaries(out), None
    except TraceError as error:
        ranks, problem = readable(out), error
    if ranks:
        console.print(table(ranks))
    for line in warnings(ranks):
        console.print(f"warning: {line}", soft_wrap=True)
    if problem is not None:
        if ranks:
            console.print(f"{len(ranks)} ranks can be read and were kept in {out}", soft_wrap=True)
        if not any(out.glob(traces.RANK_FILES)):
            raise TraceError(f"{out}: nothing was recorded: no rank came to the end of MPI_Init") from problem
        raise problem
    return ranks


def readable(out: Path) -> list[Summary]:
    """The ranks whose files are whole."""
    found = []
    for path in sorted(out.glob(traces.RANK_FILES)):
        try:
            found += traces.summaries(path)
        except TraceError:
            continue
    return found


def table(ranks: list[Summary]) -> Table:
    """A row for each rank, and their sum."""
    shown = Table(title=f"{ranks[0].program}: {ranks[0].ranks} ranks, {ranks[0].library}", title_justify="left")
    for name in ("rank", "host", "threads", "calls", "seconds", "in MPI", "sent, MB", "end"):
        shown.add_column(name, justify="left" if name in ("host", "end") else "right")
    for one in ranks[:MOST_ROWS]:
        end = f"{one.state} ({one.code})" if one.state == "aborted" else one.state
        busy = one.seconds * one.threads
        share = f"{100 * one.mpi_seconds / busy:.1f} %" if busy > 0 else ""
        row = [one.rank, one.host, one.threads, one.calls, f"{one.seconds:.3f}", share, f"{one.bytes_sent / 1e6:.1f}"]
        shown.add_row(*map(str, row), end)
    if len(ranks) > 1:
        calls, sent = sum(one.calls for one in ranks), sum(one.bytes_sent for one in ranks)
        longest = max(one.seconds for one in ranks)
        threads = sum(one.threads for one in ranks)
        shown.add_section()
        shown.add_row("all", "", str(threads), str(calls), f"{longest:.3f}", "", f"{sent / 1e6:.1f}", "")
    return shown


def warnings(ranks: list[Summary]) -> list[str]:
    """What the prediction will not know."""
    unknown: Counter[str] = Counter()
    for one in ranks:
        unknown.update(one.unknown)
    said = [f"{name} is not traced: its {count} calls count as computation" for name, count in sorted(unknown.items())]
    said += [f"rank {one.rank}: {one.lost} records were lost" for one in ranks if one.lost]
    ends = [one.rank for one in ranks if one.state != "finalized"]
    if ends:
        said.append(f"{len(ends)} ranks did not reach the end of MPI_Finalize, rank {ends[0]} first")
    return said


def write_description(out: Path, command: list[str], tracer: Tracer, status: int, ranks: list[Summary]) -> None:
    """trace.json: what was run, and what came of it."""
    text = {
        "version": traces.VERSION,
        "command": command,
        "status": status,
        "complete": bool(ranks),
        "tracer": tracer.name,
        "ranks": ranks[0].ranks if ranks else None,
        "program": ranks[0].program if ranks else None,
        "library": ranks[0].library if ranks else None,
        "hosts": list(dict.fromkeys(one.host for one in ranks)),
        "clock": ranks[0].clock if ranks else None,
    }
    files.write(out / "trace.json", json.dumps(text, indent=2) + "\n")

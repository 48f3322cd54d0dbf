# SPDX-License-Identifier: BSD-3-Clause
"""omni model export: a trace in the formats of other tools."""

import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import typer

from omnipgas_tools.libraries import peers
from omnipgas_tools.model import sites, traces
from omnipgas_tools.model.show import NONE as NO_PEER

PLACE = typer.Argument(..., metavar="TRACE", help="Folder of a trace; for --goal also a pattern.")
CHROME = typer.Option(None, "--chrome", metavar="FILE", help="JSON for ui.perfetto.dev and chrome://tracing.")
GOAL = typer.Option(None, "--goal", metavar="FILE", help="Schedule for LogGOPSim and ATLAHS; collectives as messages.")
OTF2 = typer.Option(None, "--otf2", metavar="NAME.otf2", help="Archive for the tools of Score-P: Vampir, otf2-print.")
SHOWN = ("peer", "tag", "bytes", "comm", "request", "ids", "sent", "received", "matches", "words", "flags")


def export(
    place: str = PLACE, chrome: Optional[Path] = CHROME, goal: Optional[Path] = GOAL, otf2: Optional[Path] = OTF2
) -> None:
    """Writes a trace as Perfetto or Chrome JSON, as a GOAL schedule, or as an OTF2 archive."""
    if chrome is None and goal is None and otf2 is None:
        raise typer.BadParameter("nothing to write: give --chrome FILE, --goal FILE or --otf2 FILE")
    try:
        if chrome is not None:
            write_chrome(chrome, Path(place))
        if goal is not None:
            convert("goal", place, goal)
        if otf2 is not None:
            convert("otf2", place, otf2)
    except traces.TraceError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    except OSError as error:
        typer.echo(f"error: {error.filename}: {error.strerror}", err=True)
        raise typer.Exit(1) from error


def write_chrome(out: Path, place: Path) -> None:
    """A process for each rank, a complete event for each call, as the trace is read."""
    with out.open("w") as file:
        file.write('{"displayTimeUnit": "ns", "traceEvents": [')
        separator = "\n"
        for event in chrome_events(place):
            file.write(separator + json.dumps(event))
            separator = ",\n"
        file.write("\n]}\n")


def chrome_events(place: Path) -> Iterator[dict[str, Any]]:
    """Times in microseconds, as the format has it."""
    for one in traces.summaries(place):
        name = {"name": f"rank {one.rank} ({one.host})"}
        yield {"ph": "M", "name": "process_name", "pid": one.rank, "args": name}
        yield {"ph": "M", "name": "process_sort_index", "pid": one.rank, "args": {"sort_index": one.rank}}
    where: dict[tuple[int, int], str] = {}
    for line in traces.lines(place):
        if isinstance(site := line.get("site"), dict):
            where[line["rank"], site["id"]] = place_of(site["symbol"], site["inside"], site["module"], site["offset"])
        if "call" not in line:
            continue
        is_tracer = line["call"] == "Tracer"
        shown = {key: line[key] for key in SHOWN if line.get(key) and line[key] != NO_PEER}
        if at := where.get((line["rank"], line["site"])):
            shown["where"] = at
        yield {
            "ph": "X",
            "name": "tracer"
            if is_tracer
            else line.get("name", line["call"] if line["call"].startswith("Ompl") else f"MPI_{line['call']}"),
            "cat": "tracer" if is_tracer else "mpi",
            "pid": line["rank"],
            "tid": line["thread"],
            "ts": line["begin"] / 1000,
            "dur": (line["end"] - line["begin"]) / 1000,
            "args": shown,
        }


@functools.cache
def place_of(symbol: str, inside: int, module: str, offset: int) -> str:
    """Function and line, or what is known."""
    [(function, line)] = sites.source_lines(module, [offset])
    name = function if function != sites.NONE else f"{symbol}+{inside:#x}" if symbol else ""
    return ", ".join(filter(None, [name, line or f"{Path(module).name}+{offset:#x}"]))


def convert(form: str, place: str, out: Path) -> None:
    """By ompl-model, which reads a trace as it does to replay it."""
    program = peers.build_dir() / "bin" / "ompl-model"
    if not program.is_file():
        raise traces.TraceError(f"{program} is not built: run make")
    done = subprocess.run([program, form, place, out], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise traces.TraceError(done.stderr.strip().removeprefix("ompl-model: "))
    typer.echo(done.stderr, err=True, nl=False)

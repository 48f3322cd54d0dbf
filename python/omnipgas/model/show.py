# SPDX-License-Identifier: BSD-3-Clause
"""omni model show: a trace as text, as JSON, or as a file for Perfetto and Chrome."""

import json
import subprocess
from pathlib import Path
from typing import Any, Optional

import typer

from omnipgas.model import traces

NONE = -3  # a peer that is none
PLACE = typer.Argument(..., metavar="DIR", help="Folder of a trace, or the file of one rank.")
JSON = typer.Option(False, "--json", help="Lines of JSON, with everything.")
PERFETTO = typer.Option(None, "--perfetto", metavar="FILE", help="Writes a timeline for ui.perfetto.dev instead.")


def show(place: Path = PLACE, as_json: bool = JSON, perfetto: Optional[Path] = PERFETTO) -> None:
    """Prints the calls of a trace, a line each."""
    try:
        if as_json:
            raise typer.Exit(subprocess.run(traces.dump(place), check=False).returncode)
        if perfetto is not None:
            return write_timeline(place, perfetto)
        start: int | None = None
        for line in traces.lines(place):
            if "call" in line:
                start = line["begin"] if start is None else start
                typer.echo(text(line, start))
    except traces.TraceError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    except BrokenPipeError:  # the reader has seen enough
        raise typer.Exit(0) from None


def write_timeline(place: Path, to: Path) -> None:
    """Chrome's trace event format: a process for each rank, a slice for each call, times in microseconds."""
    partial = to.with_name(to.name + ".new")
    start: int | None = None
    named: set[int] = set()
    try:
        with partial.open("w") as file:
            file.write('{"displayTimeUnit": "ns", "traceEvents": [')
            for line in traces.lines(place):
                if "call" not in line:
                    continue
                start = line["begin"] if start is None else start
                if line["rank"] not in named:
                    name = {
                        "name": "process_name",
                        "ph": "M",
                        "pid": line["rank"],
                        "args": {"name": f"rank {line['rank']}"},
                    }
                    file.write(("," if named else "") + "\n" + json.dumps(name))
                    named.add(line["rank"])
                file.write(",\n" + json.dumps(slice_of(line, start)))
            file.write("\n]}\n")
        partial.replace(to)
    except OSError as error:
        raise traces.TraceError(f"{to}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def slice_of(line: dict[str, Any], start: int) -> dict[str, Any]:
    """A call as a complete event."""
    shown = ("peer", "tag", "comm", "request", "bytes", "flags", "matches", "ids", "sent", "received")
    return {
        "name": line.get("name", line["call"]),
        "ph": "X",
        "pid": line["rank"],
        "tid": line["thread"],
        "ts": (line["begin"] - start) / 1000,
        "dur": (line["end"] - line["begin"]) / 1000,
        "args": {key: line[key] for key in shown if key in line},
    }


def text(line: dict[str, Any], start: int) -> str:
    """A call: rank.thread, microseconds since the first call shown, duration, name, what it was given."""
    words = [f"peer {line['peer']}" if line["peer"] != NONE else "", f"tag {line['tag']}" if line["tag"] else ""]
    words += [f"{key} {line[key]}" for key in ("comm", "request", "bytes") if line[key]]
    words += line["flags"]
    words += [f"{key} {line[key]}" for key in ("ids", "sent", "received") if key in line]
    words += [f"[{one['peer']} tag {one['tag']} bytes {one['bytes']}]" for one in line.get("matches", [])]
    at, took = (line["begin"] - start) / 1000, (line["end"] - line["begin"]) / 1000
    name = line.get("name", line["call"])
    return f"{line['rank']:5}.{line['thread']:<3} {at:14.3f} {took:12.3f}  {name:20} " + ", ".join(filter(None, words))

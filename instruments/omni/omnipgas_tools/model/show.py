# SPDX-License-Identifier: BSD-3-Clause
"""omni model show: a trace as text."""

import subprocess
from pathlib import Path
from typing import Any

import typer

from omnipgas_tools.model import traces

NONE = -3  # a peer that is none
PLACE = typer.Argument(..., metavar="DIR", help="Folder of a trace, or the file of one rank.")
JSON = typer.Option(False, "--json", help="Lines of JSON, with everything.")


def show(place: Path = PLACE, json: bool = JSON) -> None:
    """Prints the calls of a trace, a line each."""
    try:
        if json:
            raise typer.Exit(subprocess.run(traces.dump(place), check=False).returncode)
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

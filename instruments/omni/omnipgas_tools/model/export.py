# SPDX-License-Identifier: BSD-3-Clause
"""A trace in the formats of other tools."""

import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omnipgas_tools import files
from omnipgas_tools.model import program, sites, traces

SHOWN = ("peer", "tag", "bytes", "comm", "request", "ids", "sent", "received", "matches", "words", "flags")


def write_chrome(out: Path, place: Path) -> None:
    """A process for each rank, a complete event for each call, as the trace is read."""
    with files.replacing(out) as file:
        file.write(b'{"displayTimeUnit": "ns", "traceEvents": [')
        separator = "\n"
        for event in chrome_events(place):
            file.write((separator + json.dumps(event)).encode())
            separator = ",\n"
        file.write(b"\n]}\n")


def chrome_events(place: Path) -> Iterator[dict[str, Any]]:
    """Times in microseconds, as the format has it."""
    for one in traces.summaries(place):
        name = {"name": f"rank {one.rank} ({one.host})"}
        yield {"ph": "M", "name": "process_name", "pid": one.rank, "args": name}
        yield {"ph": "M", "name": "process_sort_index", "pid": one.rank, "args": {"sort_index": one.rank}}
    where: dict[tuple[int, int], str] = {}
    begun: dict[tuple[int, int], int] = {}  # of the task that a thread runs
    for line in traces.lines(place):
        if isinstance(site := line.get("site"), dict):
            where[line["rank"], site["id"]] = place_of(site["symbol"], site["inside"], site["module"], site["offset"])
        if "call" not in line:
            continue
        thread = line["rank"], line["thread"]
        if line["call"] == "OmplTaskBegin":
            begun[thread] = line["end"]
            continue
        if line["call"] == "OmplTaskEnd":
            if thread in begun:
                yield task_event(line, begun.pop(thread))
            continue
        is_tracer = line["call"] == "Tracer"
        shown = {key: line[key] for key in SHOWN if line.get(key) and line[key] != traces.NONE}
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


def task_event(line: dict[str, Any], begin: int) -> dict[str, Any]:
    """A task, or the part of one until it was suspended, in the lane of the thread that ran it."""
    shown = {"task": line["bytes"], "suspended": line["tag"] == 1}
    where = {"pid": line["rank"], "tid": line["thread"], "ts": begin / 1000, "dur": (line["begin"] - begin) / 1000}
    return {"ph": "X", "name": line["name"], "cat": "task", **where, "args": shown}


@functools.cache
def place_of(symbol: str, inside: int, module: str, offset: int) -> str:
    """Function and line, or what is known."""
    [(function, line)] = sites.source_lines(module, [offset])
    name = function if function != sites.NONE else f"{symbol}+{inside:#x}" if symbol else ""
    return ", ".join(filter(None, [name, line or f"{Path(module).name}+{offset:#x}"]))


def convert(form: str, place: str, out: Path) -> None:
    """By ompl-model, which reads a trace as it does to replay it. Raises PredictionError."""
    sys.stderr.write(program.run(form, place, out, heard=False).stderr)

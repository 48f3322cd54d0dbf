# SPDX-License-Identifier: BSD-3-Clause
"""Traces on disk, read by ompl_trace_dump; a call of a trace as a line of text."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnipgas_tools.model.program import ModelError, built

RANK_FILES = "rank.*.omplt"
VERSION = 1  # of trace.json
SUMMARY_LIMIT = 600  # seconds
NONE = -3  # a peer that is none


class TraceError(ModelError):
    """A trace that is not whole, or damaged; the text says what is wrong."""


@dataclass(frozen=True)
class Summary:
    """What one rank did; ompl_trace_dump --summary says it."""

    rank: int
    ranks: int
    host: str
    library: str
    program: str
    state: str
    code: int  # of MPI_Abort
    threads: int
    calls: int
    records: int
    lost: int  # records that found no place
    seconds: float  # from the first call's begin to the last one's end
    mpi_seconds: float  # in calls, of all threads
    tracer_seconds: float  # the tracer's own
    bytes_sent: int  # in messages of its own: no collectives
    clock_uncertainty: int  # ns
    clock_offset: int  # ns, of rank 0's host against this rank's clock
    clock: str
    unknown: dict[str, int]  # calls of functions that are not traced


def dump(*arguments: str | Path) -> list[str]:
    """The command line of ompl_trace_dump."""
    return [built("bin/ompl_trace_dump"), *map(str, arguments)]


def summaries(place: Path) -> list[Summary]:
    """A summary of each rank of a folder, or of the one rank of a file."""
    done = subprocess.run(dump("--summary", place), capture_output=True, text=True, timeout=SUMMARY_LIMIT, check=False)
    if done.returncode != 0:
        raise TraceError(done.stderr.strip().removeprefix("error: "))
    return [Summary(**json.loads(line)) for line in done.stdout.splitlines()]


def lines(place: Path) -> Iterator[dict[str, Any]]:
    """The definitions and calls of a trace, as they are read."""
    with subprocess.Popen(dump(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        for line in process.stdout:
            yield json.loads(line)
        error = process.stderr.read().strip()
    if process.returncode != 0:
        raise TraceError(error.removeprefix("error: "))


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

# SPDX-License-Identifier: BSD-3-Clause
"""omni tune record, omni tune replay: what each algorithm takes at each call, and what the tuner would make of it."""

from __future__ import annotations

import json as json_
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Optional

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from omnipgas_tools import files
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure import results
from omnipgas_tools.options import console_beside, numbers, refuse, words
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.tuner import runs as tuner_runs
from omnipgas_tools.tuner.runs import Kind, Replayed, RunError

SCHEMA = "omnipgas-tuner-recording-1"
REPLAYED = "omnipgas-tuner-replayed-1"

OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Where to; - for standard output.")
RECORDING = typer.Argument(..., metavar="FILE", help="What `omni tune record` has written.")
COLLECTIVES = typer.Option("allreduce,allgather", "--collectives", help=f"Of {', '.join(overlap_plan.COLLECTIVES)}.")
SIZES = typer.Option("8,1024,65536", "--sizes", help="Bytes of a rank's block or vector, comma-separated.")
RANKS = typer.Option("2", "--ranks", help="Ranks on this node, comma-separated.")
CALLS = typer.Option(tuner_runs.CALLS, "--calls", min=10, help="Of each algorithm.")
JSON = typer.Option(None, "--json", metavar="FILE", help="Result file; - for standard output.")


def record(
    out: str = OUT, collectives: str = COLLECTIVES, sizes: str = SIZES, ranks: str = RANKS, calls: int = CALLS
) -> None:
    """Record what each algorithm takes at each of many calls on this machine, for `omni tune replay`."""
    kinds = [
        Kind(collective, size, count)
        for count in numbers("--ranks", ranks, 2)
        for collective in words("--collectives", collectives, list(overlap_plan.COLLECTIVES))
        for size in numbers("--sizes", sizes, 1)
    ]
    try:
        found = {
            "schema": SCHEMA,
            "machine": results.machine(),
            "recordings": [tuner_runs.record(peers.build_dir(), kind, calls) for kind in kinds],
        }
        text = json_.dumps(found) + "\n"
        if out == "-":
            sys.stdout.write(text)
        else:
            files.write(Path(out), text)
    except RunError as error:
        raise refuse(error) from error
    except OSError as error:
        raise refuse(f"{out} cannot be written: {error.strerror}") from error


def replay(recording: Path = RECORDING, json: Optional[str] = JSON) -> None:
    """Show what the tuner would have decided on a recording: how near the best it ends, and what finding it cost."""
    try:
        content = json_.loads(recording.read_text())
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        found = tuner_runs.replay(peers.build_dir(), content["recordings"])
    except OSError as error:
        raise refuse(f"{recording} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refuse(f"{recording} is no recording of omni tune record: {error}") from error
    except RunError as error:
        raise refuse(error) from error
    console_beside(json).print(table_of(found))
    if json:
        results.write(
            json, {"schema": REPLAYED, "recording": str(recording), "replayed": [asdict(one) for one in found]}
        )


def table_of(found: list[Replayed]) -> Table:
    """A row for each kind of call."""
    out = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("calls", "takes", "steady, of the best", "regret"):
        out.add_column(column, justify="left" if column in {"calls", "takes"} else "right")
    for one in found:
        out.add_row(str(one.kind), one.takes, f"{one.steady_of_best:.3f}", f"{100 * one.regret:.1f} %")
    return out

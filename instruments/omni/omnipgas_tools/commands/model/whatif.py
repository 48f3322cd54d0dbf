# SPDX-License-Identifier: BSD-3-Clause
"""omni model whatif: what would change if the machine, the library or the program were different."""

import math
from typing import Optional

import typer

from omnipgas_tools.measure import results
from omnipgas_tools.model import options
from omnipgas_tools.model import whatif as changes
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import check_writable, failing

SET = typer.Option(
    [], "--set", metavar="NAME=VALUE",
    help="Sets a parameter: S=64K, L=2us, Gl=0.5 (ns/byte), or o=0.5x, half of it; repeatable.",
)  # fmt: skip
SWEEP = typer.Option(
    None, "--sweep", metavar="NAME=FROM:TO",
    help="Replays with several values of a parameter: S=1K:1M at the lengths that occur, others in even steps.",
)  # fmt: skip
MACHINE = typer.Option(None, "--machine", metavar="NAME|FILE", help="Takes the parameters of another machine.")
FACTOR = typer.Option(None, "--compute-factor", min=0, help="Factor of all computation; 0.5 is twice as fast.")
COLLECTIVE = typer.Option(
    [], "--collective", metavar="NAME=ALGORITHM",
    help="Takes another algorithm for a collective: allreduce=ring; repeatable (list: docs/how-to/model-whatif.md).",
)  # fmt: skip
FRAGMENT = typer.Option(False, "--fragment", help="Cuts messages above S into pieces of at most S bytes.")


def whatif(
    trace: str = options.INPUT,
    params: str = options.PARAMS,
    model: str = options.MODEL,
    set_: list[str] = SET,
    sweep: Optional[str] = SWEEP,
    machine: Optional[str] = MACHINE,
    compute_factor: Optional[float] = FACTOR,
    collective: list[str] = COLLECTIVE,
    fragment: bool = FRAGMENT,
    json: Optional[str] = options.JSON,
    sharing: bool = options.SHARING,
    eager_buffer: int = options.BUFFER,
    jobs: Optional[int] = options.JOBS,
    threads: Optional[int] = options.THREADS,
) -> None:
    """Replays a trace with changes, all at once; without any, what would help most."""
    check_writable(json, "--json")
    replay = options.replay_options(sharing, eager_buffer, jobs, threads)
    with failing(ModelError):
        change = changes.read_change(set_, machine, compute_factor, collective, fragment)
        ranked = sweep is None and not change
        first = changes.ask(trace, params, model, replay, [])
        if sweep is not None:
            wanted = changes.sweep_of(sweep, change, first["survey"])
        else:
            wanted = [{"name": changes.describe(change), **change}] if change else changes.likely(first)
        answer = changes.compare(changes.ask(trace, params, model, replay, wanted), wanted)
        if ranked:
            answer["changes"].sort(key=lambda row: row.get("time_seconds", math.inf))
        if json:
            results.write(json, answer)
    changes.show(options.answers(json), answer, ranked)

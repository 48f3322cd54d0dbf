# SPDX-License-Identifier: BSD-3-Clause
"""Targets of remote calls beside the active messages of other libraries: bench/calls, in interleaved rounds."""

from collections.abc import Iterator
from dataclasses import replace

from omnipgas_tools.measure.runner import Cell, Outcome
from omnipgas_tools.targets.measurement import Contenders, Judge, Measurement, Ratio, cells
from omnipgas_tools.targets.target import Target, at_least, at_most

OP, SIZE = "call", 8
OTHERS = {"gasnet-smp": "GASNet-EX", "ucx-workers": "UCX", "lci": "LCI"}
ALL = Contenders(("ompl", *OTHERS), (OP,), kind="calls")


class FirstOrTied:
    """This layer beside another library. With 1 in the interval of the ratio they are tied: it counts as 1."""

    def __init__(self, other: str, threads: int) -> None:
        self.ratio = Ratio(("ompl", OP, threads, SIZE), (other, OP, threads, SIZE))

    def __call__(self, outcome: Outcome, target: Target) -> Target:
        found = self.ratio(outcome, target)
        if found.value is None or found.low is None or found.high is None:
            return found
        note = f"{said(outcome.cell(*self.ratio.mine))} and {said(outcome.cell(*self.ratio.other))}"
        if found.low <= 1 <= found.high and not found.met:
            return replace(found, value=1.0, note=f"tied, median {found.value:.2f}; {note}")
        return replace(found, note=note)


def said(cell: Cell | None) -> str:
    """The median of a cell with its unit."""
    if cell is None:
        return "nothing"
    unit = "us" if cell.bench == "pingpong" else "millions per second"
    return f"{cell.interval().median:.3g} {unit}"


def beside_others(threads: int) -> Iterator[Measurement]:
    """Latency and rate of calls of 8 bytes, each of so many threads with one of the other rank."""
    where = f"remote calls of 8 B, shm, {threads} thread{'s' * (threads > 1)}"
    slower: dict[Target, Judge] = {
        at_most(f"{where}, latency, of {title}'s active messages", 1.0): FirstOrTied(other, threads)
        for other, title in OTHERS.items()
    }
    yield cells("pingpong", [ALL], (threads,), (SIZE,), slower)
    faster: dict[Target, Judge] = {
        at_least(f"{where}, rate, of {title}'s active messages", 1.0): FirstOrTied(other, threads)
        for other, title in OTHERS.items()
    }
    yield cells("flow", [ALL], (threads,), (SIZE,), faster)

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of what language runtimes need: fences, atomics on doubles, waits for memory, remote calls."""

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from omnipgas_tools.measure import stats
from omnipgas_tools.targets import calls
from omnipgas_tools.targets.measurement import Bench, Measurement, output
from omnipgas_tools.targets.target import Target, at_most

SHM: tuple[str, ...] = ()
TCP = ("--node-of", "0,1")
THREADS = (1, 2, 4, 8)
WAITED = {1: "1 us", 100: "100 us", 10000: "10 ms"}


class Found(NamedTuple):
    """Of each round: this layer's value, and the baseline's."""

    mine: list[float]
    twin: list[float]


def run(bench: Bench, options: Sequence[str], what: str, number: int = 0, name: str = "runtimes") -> Found:
    """A measurement of ompl_bench_NAME on two ranks; TCP: as two nodes."""
    program = [bench.build / f"bin/ompl_bench_{name}", what, str(number)]
    over = {"OMPL_CONDUITS": "self,ofi"} if options else {}
    said = output([bench.build / "bin/omplrun", "-n", "2", "--no-prefix", *options, *program], 300, None, **over)
    return rounds_of(said)


def rounds_of(said: str) -> Found:
    """What a program has printed."""
    rounds = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return Found([one["ompl"] for one in rounds], [one["twin"] for one in rounds])


def middle(target: Target, values: Sequence[float], note: str = "") -> Target:
    """A target with the median of values, and its interval."""
    return target.within(stats.median_interval(values), note)


Judge = Callable[[Target, Found], Target]


def ratio(target: Target, found: Found) -> Target:
    """Of the baseline."""
    note = f"medians {statistics.median(found.mine):.0f} and {statistics.median(found.twin):.0f} ns"
    return target.ratio(found.mine, found.twin, note)


def over(target: Target, found: Found) -> Target:
    """What it takes more than the baseline."""
    return middle(target, [mine - twin for mine, twin in zip(*found, strict=True)])


def compared(target: Target, judge: Judge, options: Sequence[str], what: str, number: int = 0) -> Measurement:
    """One value beside its baseline."""

    def measure(bench: Bench, _: Sequence[Target]) -> Iterator[Target]:
        yield judge(target, run(bench, options, what, number))

    return Measurement(measure, target)


def packed(way: str) -> Measurement:
    """A column of 1,000 elements beside one piece of as many bytes."""
    target = at_most(f"strided {way} of 1,000 x 8 B, ofi over TCP, of one {way} of 8,000 B", 2.0)

    def measure(bench: Bench, _: Sequence[Target]) -> Iterator[Target]:
        yield ratio(target, run(bench, TCP, way, 0, "packing"))

    return Measurement(measure, target)


def waits(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Latencies of ompl_wait_memory, and the processor time of the longest wait."""
    shares: list[float] = []
    for waited, target in zip(WAITED, targets, strict=False):
        found = run(bench, SHM, "wait", waited)
        shares = found.twin
        yield middle(target, [ns / 1000 for ns in found.mine])
    yield middle(targets[-1], shares)


def measurements() -> Iterator[Measurement]:
    """The group. One measurement to an item: the order is that of the list in docs/status.md."""
    yield compared(at_most("fence between two puts, shm, over the two puts", 5.0, "ns"), over, SHM, "fence")
    yield compared(
        at_most("fence between two puts, ofi over TCP, bytes on the wire", 0.0, "B"), over, TCP, "fence_bytes"
    )
    yield compared(
        at_most("addition of a double, shm, of a compare-and-swap loop", 1.5), ratio, SHM, "double_add"
    )
    yield Measurement(
        waits,
        *(at_most(f"ompl_wait_memory, latency after {text} of waiting", None, "us") for text in WAITED.values()),
        at_most("ompl_wait_memory, processor time of a wait of 10 ms", None, "%"),
    )
    call = "remote call of 8 B with its reply"
    yield compared(at_most(f"{call}, shm, of put+flag both ways", 1.2), ratio, SHM, "call", 5000)
    yield compared(at_most(f"{call}, TCP, of put_signal both ways", 1.1), ratio, TCP, "call_signal", 300)
    for threads in THREADS:
        yield from calls.beside_others(threads)
    yield from map(packed, ("put", "get"))

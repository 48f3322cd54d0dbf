# SPDX-License-Identifier: BSD-3-Clause
"""Targets of OpenSHMEM on the layer: its calls beside the layer's own, beside Debian's OpenSHMEM, and start-up."""

import time
from collections.abc import Iterator, Sequence

from omnipgas_tools.targets.measurement import Bench, Contenders, Measurement, Ratio, cells, output
from omnipgas_tools.targets.runtimes import ratio, rounds_of
from omnipgas_tools.targets.target import Target, at_least, at_most

SIZES = (8, 4096)
THREADS = (1, 2, 4, 8)
RIVAL = "oshmem-debian"
MINE = "shmem-ompl"


def of_layer(what: str, size: int) -> Measurement:
    """A call of the client beside that of the layer, in one program, in turn."""

    def measure(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
        program = [bench.build / "bin/ompl_bench_openshmem_calls", what, str(size)]
        command = [bench.build / "bin/omplrun", "-n", "2", "--no-prefix", *program]
        yield ratio(targets[0], rounds_of(output(command, 120, None, OMPL_CONDUITS="self,shm")))

    where = "" if what == "atomic" else f" of {size} B"
    return Measurement(measure, at_most(f"OpenSHMEM {what}{where}, shm, of the layer's", 1.1))


def start(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """A job of 64 PEs from its start to its end; the shortest of five."""
    program = [bench.build / "bin/ompl_bench_openshmem_calls", "hello"]
    command = [bench.build / "bin/omplrun", "-n", "64", "--no-prefix", *program]
    seconds = []
    for _ in range(5):
        begin = time.monotonic()
        output(command, 120, None, OMPL_CONDUITS="self,shm")
        seconds.append(time.monotonic() - begin)
    yield targets[0].found(min(seconds))


def measurements() -> Iterator[Measurement]:
    """The group."""
    for what in ("put", "get", "put_signal"):
        for size in SIZES:
            yield of_layer(what, size)
    yield of_layer("atomic", 8)
    both = Contenders((MINE, RIVAL), ("put",))
    for threads in THREADS:
        some = f"{threads} thread{'s' * (threads > 1)}"
        yield cells("pingpong", [both], (threads,), SIZES, {
            at_most(f"OpenSHMEM put+flag, shm, {some}, {size} B, of Debian's", 1.0):
                Ratio((MINE, "put", threads, size), (RIVAL, "put", threads, size))
            for size in SIZES})  # fmt: skip
    one = Contenders((MINE, RIVAL), ("putonly",))
    yield cells("rate", [one], (1,), (8,), {
        at_least("OpenSHMEM puts of 8 B, shm, rate of Debian's", 1.0):
            Ratio((MINE, "putonly", 1, 8), (RIVAL, "putonly", 1, 8))})  # fmt: skip
    yield Measurement(start, at_most("OpenSHMEM hello of 64 PEs", 1.0, "s"))

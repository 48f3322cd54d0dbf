# SPDX-License-Identifier: BSD-3-Clause
"""omni rate: messages per second."""

from dataclasses import replace
from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.commands.pingpong import LIBS, OVER, QUICK, REPEAT, RESUME, STARTS, THREADS
from omnipgas_tools.measure import benches, runner
from omnipgas_tools.measure.session import Session
from omnipgas_tools.options import JSON, PLOT, SEED, TWO_HOSTS, numbers, sizes, timeout, words

LIMIT = 10.0  # seconds

OP = typer.Option(
    None, "--op",
    help="Operations, comma-separated: put (a put and a flag), putonly; between hosts put, putsignal, sendrecv."
    " [put,putonly; put,sendrecv]",
)  # fmt: skip
SIZES = sizes("8", "Bytes of a message, at least 4, comma-separated.", "--size")
TIMEOUT = timeout(None, default=f" [{LIMIT:g}; quick: {runner.QUICK.timeout:g}]")


def command(
    libs: Optional[str] = LIBS,
    op: Optional[str] = OP,
    threads: str = THREADS,
    sizes: str = SIZES,
    repeat: Optional[int] = REPEAT,
    starts: Optional[int] = STARTS,
    quick: bool = QUICK,
    timeout: Optional[float] = TIMEOUT,
    json: Optional[str] = JSON,
    resume: bool = RESUME,
    plot: Optional[Path] = PLOT,
    hosts: int = TWO_HOSTS,
    over: Optional[str] = OVER,
    seed: Optional[int] = SEED,
) -> None:
    """Messages per second to a passive target, which sleeps outside the library; over a network (--hosts 2, --over) to
    one that takes each as it comes."""
    transports = benches.transports(hosts, over)
    known = ["put", "putsignal", "sendrecv"] if transports else ["put", "putonly"]
    request = benches.Request(
        bench="flow" if transports else "rate",
        libs=benches.libraries(libs, transports),
        ops=words("--op", op or ("put,sendrecv" if transports else "put,putonly"), known),
        threads=numbers("--threads", threads, 1),
        sizes=numbers("--sizes", sizes, 4),
        hosts=hosts,
        over=transports,
        resume=resume,
    )
    limits = replace(benches.limits(quick, repeat, timeout, LIMIT, starts), iterations=1 << 22)
    raise benches.measure(request, Session(json, plot, limits, seed))

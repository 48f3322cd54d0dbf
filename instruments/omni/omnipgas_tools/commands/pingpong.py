# SPDX-License-Identifier: BSD-3-Clause
"""omni pingpong: latency and bandwidth between threads."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools import options
from omnipgas_tools.measure import benches, runner
from omnipgas_tools.measure.benches import LIBRARIES, NETWORK_LIBRARIES
from omnipgas_tools.measure.session import Session

USUAL_SIZES = ",".join(str(1 << p) for p in range(2, 23))  # 4 B to 4 MiB
OPS = ["put", "putsignal", "sendrecv"]
LIMIT = 30.0  # seconds

LIBS = options.libs(None, f", or all that omni libs lists. [{LIBRARIES}; with --hosts 2 or --over {NETWORK_LIBRARIES}]")
OP = typer.Option(
    "put,sendrecv", "--op",
    help="Operations, comma-separated: put (a put and a flag), putsignal (both in one call), sendrecv.",
)  # fmt: skip
THREADS = options.threads("1,2,4,8")
SIZES = options.sizes(None, "Bytes of a message, at least 4, comma-separated. [powers of two, 4 B to 4 MiB]")
REPEAT = options.repeat(
    None,
    "Rounds at most; it stops earlier when the medians are certain."
    f" [{runner.FULL.rounds}; quick: {runner.QUICK.rounds}]",
)
STARTS = typer.Option(
    None, "--starts", min=1,
    help="Number of times the jobs are restarted; the rounds are divided among the restarts."
    f" [{runner.FULL.starts}; quick: {runner.QUICK.starts}]",
)  # fmt: skip
QUICK = options.quick()
TIMEOUT = options.timeout(None, default=f" [{LIMIT:g}; quick: {runner.QUICK.timeout:g}]")
PROCESSES = typer.Option(
    False, "--processes", help="Also measures T jobs of one thread at once, beside T threads of one job."
)
RESUME = typer.Option(
    False, "--resume", help="Continues the result file of --json: keeps what it has and measures the rest."
)
PERCENTILES = typer.Option(False, "--percentiles", help="Plots p50 and p99 beside the slowest thread's mean.")
OVER = options.over(
    None,
    "Transports of OMPL and its baselines, instead of memory, comma-separated: {transports}. [with --hosts 2: tcp]",
    "TRANSPORTS",
)


def command(
    libs: Optional[str] = LIBS,
    op: str = OP,
    threads: str = THREADS,
    sizes: Optional[str] = SIZES,
    repeat: Optional[int] = REPEAT,
    starts: Optional[int] = STARTS,
    quick: bool = QUICK,
    timeout: Optional[float] = TIMEOUT,
    processes: bool = PROCESSES,
    json: Optional[str] = options.JSON,
    resume: bool = RESUME,
    plot: Optional[Path] = options.PLOT,
    percentiles: bool = PERCENTILES,
    hosts: int = options.TWO_HOSTS,
    over: Optional[str] = OVER,
    seed: Optional[int] = options.SEED,
) -> None:
    """Latency and bandwidth between thread i of one rank and thread i of another."""
    transports = benches.transports(hosts, over)
    usual = ",".join(map(str, runner.QUICK_SIZES)) if quick else USUAL_SIZES
    request = benches.Request(
        bench="pingpong",
        libs=benches.libraries(libs, transports),
        ops=options.words("--op", op, OPS),
        threads=options.numbers("--threads", threads, 1),
        sizes=options.numbers("--sizes", sizes or usual, 4),
        percentiles=percentiles,
        hosts=hosts,
        over=transports,
        processes=processes,
        resume=resume,
    )
    raise benches.measure(request, Session(json, plot, benches.limits(quick, repeat, timeout, LIMIT, starts), seed))

# SPDX-License-Identifier: BSD-3-Clause
"""omni endpoints: how few endpoints suffice."""

from pathlib import Path
from typing import Optional

import typer

from omnipgas_tools.commands.pingpong import LIMIT, QUICK, REPEAT, THREADS, TIMEOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import benches, endpoints, network
from omnipgas_tools.measure.session import Session
from omnipgas_tools.options import JSON, PLOT, SEED, libs, numbers, over, words

POOLS = typer.Option("1,2,3,4,8", "--pools", help="Endpoints per rank, comma-separated.")
LIBS = libs(
    "mpich,openmpi", " beside OMPL and its baseline; --pools also applies to those whose endpoints can be chosen."
)
HOSTS = typer.Option(2, "--hosts", min=1, max=2, help="Hosts; 1: the libraries then go through memory; 2: needs root.")
OVER = over(None, "Transport of OMPL and its baseline: {transports}. [tcp; one host: ucx-shm]")


def command(
    threads: str = THREADS,
    pools: str = POOLS,
    hosts: int = HOSTS,
    over: Optional[str] = OVER,
    libs: str = LIBS,
    repeat: Optional[int] = REPEAT,
    quick: bool = QUICK,
    timeout: Optional[float] = TIMEOUT,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    seed: Optional[int] = SEED,
) -> None:
    """How few endpoints suffice: threads on pools of different size: latency, rate, failed claims and memory per peer,
    beside the baseline and libraries that let one choose, or have one for each thread."""
    possible = [t for t in network.TRANSPORTS if hosts == 1 or t not in network.INSIDE_ONE_HOST]
    request = benches.Request(
        bench="pingpong",
        libs=words("--libs", libs, list(catalog.table())) if libs else [],
        ops=["put", "sendrecv"],
        threads=numbers("--threads", threads, 1),
        sizes=[endpoints.SIZE],
        hosts=hosts,
        over=(words("--over", over or ("tcp" if hosts == 2 else "ucx-shm"), possible)[0],),
    )
    sizes = numbers("--pools", pools, 1)
    session = Session(json, plot, benches.limits(quick, repeat, timeout, LIMIT), seed)
    raise benches.measure_endpoints(request, sizes, session)

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of network conduits, between two hosts that are network namespaces: beside baselines on bare libfabric and
bare UCX, beside MPI over the same wire, and what threads that share endpoints do to each other."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Found, Hosts
from omnipgas_tools.measure import network
from omnipgas_tools.measure.runner import RATE_REGION, Cell, Contender
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.targets.measurement import (
    ROUNDS,
    Bench,
    Contenders,
    Judge,
    Key,
    Measurement,
    NotMeasuredError,
    Ratio,
    RatioToBest,
    cells,
    limits,
)
from omnipgas_tools.targets.target import Target, at_least, at_most

MPIS = ("mpich", "openmpi")
OFI_TRANSPORTS = ("tcp;ofi_rxm", "net", "net/rdm")
SMALL, MEDIUM, LARGE, LONG = 8, 4096, 1 << 16, 1 << 20
THREADS = (2, 4, 8)
CORES = 16
ALL = 8  # threads, of the targets about sharing
ASLEEP = 10.0  # seconds
GOES_ON = 100  # round trips per second, a hundredth of what a thread does alone
SHARING = f"{ALL} threads, 1 slot, TCP between namespaces, one asleep for {ASLEEP:g} s"


def of_baseline(transport: str, op: str, size: int) -> Ratio:
    """One thread over a transport, of the baseline's."""
    baseline, _ = network.TRANSPORTS[transport]
    return Ratio((f"ompl {transport}", op, 1, size), (f"{baseline} {transport}", op, 1, size))


def ofi() -> Iterator[Measurement]:
    """The libfabric conduit beside its baseline, and beside MPI with threads."""
    for transport in OFI_TRANSPORTS:
        where = f"{transport} between namespaces, 1 thread"
        small: dict[Target, Judge] = {
            at_most(f"put+flag, {where}, 8 B, of fi_write + fi_writedata", 1.1): of_baseline(transport, "put", SMALL),
            at_most(f"put_signal, {where}, 8 B, of fi_writedata", 1.1): of_baseline(transport, "putsignal", SMALL),
        }
        both = Contenders(["ompl", "ofi"], ["put", "putsignal"], [transport])
        yield cells("pingpong", [both], (1,), (SMALL,), small, hosts=True)
        stream = at_least(f"stream of 1 MiB, {where}, of the baseline's", 0.95)
        both = Contenders(["ompl", "ofi"], ["put"], [transport])
        yield cells("flow", [both], (1,), (LONG,), {stream: of_baseline(transport, "put", LONG)}, hosts=True)
    # MPI's put + flag between hosts takes many times as long as its messages.
    rivals = [Contenders(["ompl"], ["put"], OFI_TRANSPORTS[:2]), Contenders(MPIS, ["sendrecv"], OFI_TRANSPORTS)]
    for threads in THREADS:
        of_mpi: dict[str, dict[Target, Judge]] = {"pingpong": {}, "flow": {}}
        theirs: list[Key] = [(mpi, "sendrecv", threads, SMALL) for mpi in MPIS]
        for transport in OFI_TRANSPORTS[:2]:
            where = f"put+flag, {transport} between namespaces, {threads} threads, 8 B"
            judge = RatioToBest((f"ompl {transport}", "put", threads, SMALL), theirs, "{library} {op}", mean)
            of_mpi["pingpong"][at_most(f"{where}, mean latency, of the best MPI", 1.0)] = judge
            of_mpi["flow"][at_least(f"{where}, rate, of the best MPI", 1.0)] = judge
        for bench, judged in of_mpi.items():
            yield cells(bench, rivals, (threads,), (SMALL,), judged, hosts=True)


def mean(cell: Cell) -> list[float]:
    """Mean latencies of all threads, or rates."""
    return [r.mean_us for r in cell.rounds] if cell.bench == "pingpong" else cell.values()


def ucx() -> Iterator[Measurement]:
    """The UCX conduit beside its baseline, over TCP between hosts and over UCX's shared memory on one."""
    for transport, where in (("ucx", "TCP between namespaces"), ("ucx-shm", "its shared memory")):
        both = Contenders(["ompl", "ucx"], ["put", "putsignal"], [transport])
        judged: dict[Target, Judge] = {
            at_most(f"{words}, UCX over {where}, 1 thread, {size} B, of the baseline", 1.15): of_baseline(
                transport, op, size
            )
            for op, words in (("put", "put+flag"), ("putsignal", "put_signal"))
            for size in (SMALL, MEDIUM)
        }
        hosts = transport not in network.INSIDE_ONE_HOST
        yield cells("pingpong", [both], (1,), (SMALL, MEDIUM), judged, hosts)


def sleeper(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """One thread sleeps outside the library, having used the only endpoint; its partner waits inside."""
    with network.two_hosts() as hosts:
        here = catalog.find(bench.table["ompl"], bench.build)
        with Worker(network.over(here, "tcp", hosts, endpoints=1), ALL, RATE_REGION) as worker:

            def others(sleep: float) -> list[float]:
                return worker.pingpong("put", SMALL, 1 << 30, ASLEEP, 6 * ASLEEP + 30, sleep).thread_rates[1:]

            before, meanwhile, after = others(0), others(ASLEEP), others(0)
    awake = (sum(before) + sum(after)) / 2
    going, speed = targets
    slowest = f"the slowest at {min(meanwhile):,.0f} round trips per second"
    yield going.found(sum(rate > GOES_ON for rate in meanwhile), slowest)
    yield speed.found(sum(meanwhile) / awake)


def cores16(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Few endpoints for many threads, and threads instead of processes, where each thread has a core."""
    if catalog.cores() < CORES:
        raise NotMeasuredError(f"needs {CORES} cores, {catalog.cores()} here")
    slots, processes = targets
    with network.two_hosts() as hosts:
        here = catalog.find(bench.table["ompl"], bench.build)
        pools = [network.over(here, "tcp", hosts, endpoints=size) for size in (3, ALL)]
        outcome = bench.run("flow", [Contender(pool, "put") for pool in pools], (ALL,), (SMALL,), limits())
        few, many = ((pool.name, "put", ALL, SMALL) for pool in pools)
        yield Ratio(few, many)(outcome, slots)
        yield processes.ratio(*threads_and_processes(here, hosts, ALL))


def threads_and_processes(here: Found, hosts: Hosts, count: int) -> tuple[Sequence[float], Sequence[float]]:
    """Rates of threads in one process on each host, and of as many processes with a thread each, in turn; each pair
    has cores of its own."""
    half = catalog.cores() // 2

    def bound_to(first: int, cores: int) -> Found:
        one, other = ([*range(start, start + cores)] for start in (first, half + first))
        return network.over(here, "tcp", network.on_cores(hosts, one, other))

    with ExitStack() as stack:
        together = stack.enter_context(Worker(bound_to(0, count), count, RATE_REGION))
        apart = [stack.enter_context(Worker(bound_to(i, 1), 1, RATE_REGION)) for i in range(count)]
        at_once = stack.enter_context(ThreadPoolExecutor(count))

        def rate(workers: list[Worker]) -> float:
            found = at_once.map(lambda w: w.flow("put", SMALL, 1 << 30, 0.1, 30.0), workers)
            return float(sum(r.rate for r in found))

        threads, processes = zip(*((rate([together]), rate(apart)) for _ in range(ROUNDS)), strict=True)
    return threads, processes

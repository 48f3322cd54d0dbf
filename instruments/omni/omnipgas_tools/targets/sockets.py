# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the tcp conduit, between two hosts that are network namespaces: beside the baseline on bare sockets,
beside all libraries that go over TCP there, and what threads cost that share a process or its endpoints."""

import re
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from omnipgas_tools.libraries import catalog
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
    output,
)
from omnipgas_tools.targets.target import Target, at_least, at_most

OVER = "sockets"  # the transport: this layer's own sockets, and the baseline on bare ones
MINE, BASELINE = f"ompl {OVER}", f"{OVER} {OVER}"
# Each in the form that is quickest with threads between hosts; those that are not here are left out.
MPIS = ("mpich", "openmpi", "intel")
OTHERS = ("ucx-workers", "ucx-wheel", "libfabric", "libfabric-wheel", "gasnet-udp", "gasnet-ofi", "gaspi")
RIVALS = (*((name, "sendrecv") for name in MPIS), *((name, "put") for name in OTHERS))
SMALL, MEDIUM, LARGE, LONG = 8, 4096, 1 << 16, 1 << 20
SIZES = (SMALL, MEDIUM, LARGE)
THREADS = (2, 4, 8)
ALL, FEW = 8, 3  # threads, and endpoints that they share
PEERS, PEER_KIB = 1000, 16.0
RANKS, HOSTS, START_S = 64, 4, 2.0
STARTS = 7
LIMIT_S = 300.0


def where(threads: int) -> str:
    """The beginning of a target's name."""
    return f"TCP between namespaces, {threads} thread{'s' if threads > 1 else ''}"


def slowest(cell: Cell) -> list[float]:
    """Latencies of the slowest thread, or rates."""
    return cell.values()


def mean(cell: Cell) -> list[float]:
    """Mean latencies of all threads, or rates."""
    return [r.mean_us for r in cell.rounds] if cell.bench == "pingpong" else cell.values()


def of_baseline() -> Iterator[Measurement]:
    """One thread beside the same pattern by hand; put and flag beside both in one call."""
    both = Contenders(["ompl", OVER], ["put"], [OVER])
    judged: dict[Target, Judge] = {
        at_most(f"put+flag, {where(1)}, {size} B, of the baseline", 1.05 if size == SMALL else 1.1): Ratio(
            (MINE, "put", 1, size), (BASELINE, "put", 1, size)
        )
        for size in SIZES
    }
    yield cells("pingpong", [both], (1,), SIZES, judged, hosts=True)
    stream = at_least(f"stream of 1 MiB, {where(1)}, of the baseline's", 0.97)
    yield cells(
        "flow", [both], (1,), (LONG,), {stream: Ratio((MINE, "put", 1, LONG), (BASELINE, "put", 1, LONG))}, hosts=True
    )
    alone = Contenders(["ompl"], ["put", "putsignal"], [OVER])
    for threads in (1, *THREADS):
        judged = {
            at_most(f"put+flag, {where(threads)}, {size} B, of put_signal", 1.05): Ratio(
                (MINE, "put", threads, size), (MINE, "putsignal", threads, size)
            )
            for size in SIZES
        }
        yield cells("pingpong", [alone], (threads,), SIZES, judged, hosts=True)


def of_the_best() -> Iterator[Measurement]:
    """Latency with threads and rates, beside the best of all others."""
    contenders = [Contenders(["ompl"], ["put"], [OVER]), Contenders(MPIS, ["sendrecv"], [OVER])]
    contenders.append(Contenders(OTHERS, ["put"], [OVER]))
    for threads in THREADS:
        judged: dict[Target, Judge] = {}
        for size in SIZES:
            others: list[Key] = [(library, op, threads, size) for library, op in RIVALS]
            for words, value in (("mean latency", mean), ("slowest thread", slowest)):
                target = at_most(f"put+flag, {where(threads)}, {size} B, {words}, of the best library", 0.9)
                judged[target] = RatioToBest((MINE, "put", threads, size), others, "{library} {op}", value)
        yield cells("pingpong", contenders, (threads,), SIZES, judged, hosts=True)
    for threads in (1, *THREADS):
        target = at_least(f"rate of 8 B put+flag, {where(threads)}, of the best library", 1.0)
        others = [(library, op, threads, SMALL) for library, op in RIVALS]
        judge = RatioToBest((MINE, "put", threads, SMALL), others, "{library} {op}")
        yield cells("flow", contenders, (threads,), (SMALL,), {target: judge}, hosts=True)


def shared(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Threads on few endpoints, beside threads that share as many sockets under a lock."""
    with network.two_hosts() as hosts:
        mine = network.over(catalog.find(bench.table["ompl"], bench.build), OVER, hosts, endpoints=FEW)
        baseline = network.over(catalog.find(bench.table[OVER], bench.build), OVER, hosts, endpoints=FEW)
        asked = network.told(baseline.library, {"OMNI_ENDPOINTS": str(FEW)}, "shared sockets")
        worker = baseline.worker.with_name("ompl_bench_shared_sockets")
        locked = replace(baseline, library=asked, worker=worker)
        outcome = bench.run("flow", [Contender(one, "put") for one in (mine, locked)], (ALL,), (SMALL,), limits())
    yield Ratio((mine.name, "put", ALL, SMALL), (locked.name, "put", ALL, SMALL))(outcome, targets[0])


def processes(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Threads of one process on each host, beside as many processes with a thread each; all of them on the host's
    cores, in turn."""
    with ExitStack() as stack:
        hosts = stack.enter_context(network.two_hosts())
        here = network.over(catalog.find(bench.table["ompl"], bench.build), OVER, hosts)
        together = stack.enter_context(Worker(here, ALL, RATE_REGION))
        apart = [stack.enter_context(Worker(here, 1, RATE_REGION)) for _ in range(ALL)]
        at_once = stack.enter_context(ThreadPoolExecutor(ALL))

        def rate(workers: list[Worker]) -> float:
            found = at_once.map(lambda w: w.flow("put", SMALL, 1 << 30, 0.1, 30.0), workers)
            return float(sum(r.rate for r in found))

        mine, theirs = zip(*((rate([together]), rate(apart)) for _ in range(ROUNDS)), strict=True)
    yield targets[0].ratio(mine, theirs)


def peers(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Memory of a rank for each peer that it is connected to, of the test with simulated peers."""
    program = bench.build / "bin/tests/tcp_peers_test"
    if reason := network.why_no_hosts():
        raise NotMeasuredError(reason)  # as of all others of the group
    if not program.exists():
        raise NotMeasuredError(f"build the tests: there is no {program}")
    said = output([program, "--gtest_filter=*Memory*"], LIMIT_S)
    found = re.search(r"(\d+) peers: ([\d.]+) KiB each", said)
    if found is None or int(found[1]) != PEERS:
        raise NotMeasuredError(f"the test says nothing of {PEERS} peers: {said[-200:]}")
    yield targets[0].found(float(found[2]), "its heap; the kernel's part is on the conduit's page")


def start_up(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """From the launcher's start to the end of a job whose ranks meet in a barrier."""
    conduits = {"OMPL_CONDUITS": "self,shm,tcp"}
    with network.some_hosts(HOSTS, RANKS) as hosts:
        launcher, program = (bench.build / "bin" / name for name in ("omplrun", "ompl_bench_hello"))
        job = [*hosts.launch, launcher, "-n", RANKS, *hosts.enter, program]
        seconds, processor = [], []
        for _ in range(STARTS):
            begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            said = output(job, LIMIT_S, None, **conduits)
            seconds.append(time.monotonic() - begin)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            if said.count(f"of {RANKS}, private") != RANKS:
                raise NotMeasuredError(f"a rank said nothing: {said[-200:]}")
    spread = f"{min(seconds):.2f} to {max(seconds):.2f} s in {STARTS} starts; on {catalog.cores()} cores, of which"
    yield targets[0].found(statistics.median(seconds), f"{spread} they use {statistics.median(processor):.2f} s")


def measurements() -> Iterator[Measurement]:
    """The group."""
    yield from of_baseline()
    yield from of_the_best()
    yield Measurement(
        shared,
        at_least(f"rate of {ALL} threads on {FEW} slots, TCP between namespaces, of {FEW} sockets under a lock", 0.9),
    )
    together = f"rate of {ALL} threads in one process, sockets between namespaces, of {ALL} processes"
    yield Measurement(processes, at_least(together, 1.0))
    yield Measurement(peers, at_most(f"memory of a rank for each of {PEERS} connected peers, TCP", PEER_KIB, "KiB"))
    yield Measurement(
        start_up, at_most(f"start to end of {RANKS} ranks with a barrier on {HOSTS} hosts, TCP", START_S, "s")
    )

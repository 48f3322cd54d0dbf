# SPDX-License-Identifier: BSD-3-Clause
"""What the study measures: bare exchanges of partitions' patterns and of rings, and solves on the cores there are."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, ring
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.libraries.catalog import Found
from omnipgas_tools.measure import network, stats
from omnipgas_tools.measure.rounds import Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.solver import jobs as solver
from omnipgas_tools.study.plan import BASE, PARTITIONS, STRATEGIES, WORKS, Plan

RING = 18  # ranks
RING_BYTES = 800  # each way with each neighbour


def exchange(pattern: Pattern, plan: Plan, rate: int | None, progress: Progress) -> list[dict[str, Any]]:
    """A partition's exchanges by each strategy, beside MPI's: over shared memory, or between two hosts over a link of
    so many Mbit/s. Rows as of `omni halo`."""
    with ExitStack() as stack:
        found = _processes(plan.mpi, pattern.ranks)
        if rate is None:
            found = halo_rounds.over(found, "shm")
        else:
            hosts = stack.enter_context(network.two_hosts(rate))
            found = network.spread(found, hosts)
        return _rounds(found, pattern, [*STRATEGIES.values(), BASE], BASE, plan, progress)


def neighbors(count: int, plan: Plan, progress: Progress) -> list[dict[str, Any]]:
    """Exchanges on a ring with so many neighbours: double buffering beside one slot whose mark is reset."""
    found = halo_rounds.over(_processes("ompl", RING), "shm")
    pattern = ring(RING, count, RING_BYTES, RING_BYTES)
    return _rounds(found, pattern, list(STRATEGIES.values()), STRATEGIES["rdma"], plan, progress)


def _processes(library: str, ranks: int) -> Found:
    build = catalog.build_dir()
    return catalog.with_ranks(installation.find(catalog.table(build)[library], build, "halo"), ranks, build)


def _rounds(
    found: Found, pattern: Pattern, strategies: list[str], base: str, plan: Plan, progress: Progress
) -> list[dict[str, Any]]:
    limits = Limits(
        rounds=plan.rounds, min_rounds=min(plan.rounds, 5), seconds=plan.seconds, timeout=min(plan.timeout, 60)
    )
    outcome = halo_rounds.measure(found, pattern, strategies, limits, plan.seed, progress)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return halo_rounds.rows(outcome, base)


@dataclass
class _Solve(Entry[float]):
    """Seconds of an iteration."""

    work: str
    partition: str
    strategy: str


def solves(ranks: int, plan: Plan, progress: Progress) -> list[dict[str, Any]]:
    """Products, products with a sum over all ranks, and CG, by each strategy on each partition, in rounds of shuffled
    order; all in processes of the MPI. Seconds of an iteration, and their ratio to MPI on the same partition."""
    jobs = [_Solve(w, kind, way) for w in WORKS for kind in PARTITIONS.values() for way in (BASE, *STRATEGIES.values())]

    def block(job: _Solve, _index: int) -> float:
        progress.at(f"{ranks} ranks: {job.work}, {job.partition}, {job.strategy}")
        line = [*_program(job.work, plan), plan.matrix, f"--partition={job.partition}", f"--strategy={job.strategy}"]
        done = solver.result_of(line, ranks, plan.mpi, plan.timeout)
        progress.done()
        return float(done["seconds_per_iteration"])

    progress.plan(plan.rounds * len(jobs))
    Rounds(jobs, block, Limits(rounds=plan.rounds), shuffled(plan.seed)).run()
    base = {(job.work, job.partition): job.rounds for job in jobs if job.strategy == BASE}
    return [
        {"work": job.work, "partition": job.partition, "strategy": job.strategy,
         "seconds": stats.median_interval(job.rounds).to_json(),
         "of_mpi": stats.paired_ratio(job.rounds, base[job.work, job.partition], 1).to_json()}
        for job in jobs
    ]  # fmt: skip


def _program(work: str, plan: Plan) -> list[str]:
    if work == "cg":
        return ["cg", "--tol=0", f"--max-iterations={plan.iterations}"]
    return ["spmv", f"--iterations={plan.iterations}", *(["--dot"] if work == "spmv+dot" else [])]

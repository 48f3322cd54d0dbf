# SPDX-License-Identifier: BSD-3-Clause
"""Processes in place of threads: so many jobs of two ranks with one thread each, measured at the same time.

The papers' central question is what threads lose against processes; `omni pingpong --processes` answers it.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from omnipgas_tools.libraries.catalog import Found
from omnipgas_tools.measure.worker import Round, Worker


class Jobs:
    """All jobs of a library, started and ready; to its user one worker."""

    def __init__(self, found: Found, threads: int, size: int) -> None:
        self.found = found
        self.threads = threads
        self.workers: list[Worker] = []
        try:
            for job in range(threads):
                self.workers.append(Worker(replace(found, jobs=threads), 1, size, job))
        except BaseException:
            self.kill()
            raise
        first = self.workers[0]
        self.hello, self.command_line, self.environment = first.hello, first.command_line, first.environment
        self.startup = max(worker.startup for worker in self.workers)
        self.memory = sum(worker.memory for worker in self.workers)

    def pingpong(self, op: str, size: int, iterations: int, seconds: float, limit: float) -> Round:
        """One block of ping-pong in all jobs at once; a failure of one ends all."""

        def one(worker: Worker) -> Round:
            return worker.pingpong(op, size, iterations, seconds, limit)

        with ThreadPoolExecutor(len(self.workers)) as pool:
            try:
                return together(list(pool.map(one, self.workers)))
            except BaseException:
                self.kill()
                raise

    def kill(self) -> None:
        """Ends every process at once."""
        for worker in self.workers:
            worker.kill()


def how_started(worker: Worker | Jobs) -> dict[str, Any]:
    """For the result file."""
    return {
        "command": worker.command_line,
        "environment": worker.environment,
        "settings": [
            {"variable": s.env, "why": s.why, "source": s.source} for s in worker.found.applying(worker.threads)
        ],
        "details": worker.hello[0]["details"],
        "caveats": worker.found.library.caveats,
    }


def together(rounds: list[Round]) -> Round:
    """What the jobs found, as if they were the threads of one."""
    count = sum(r.count for r in rounds)
    cpu = [r.cpu_us * r.count for r in rounds if r.cpu_us is not None]
    return Round(
        mean_us=sum(r.mean_us * r.count for r in rounds) / count,
        fastest_us=min(r.fastest_us for r in rounds),
        slowest_us=max(r.slowest_us for r in rounds),
        min_us=min(r.min_us for r in rounds),
        max_us=max(r.max_us for r in rounds),
        count=count,
        bandwidth=sum(r.bandwidth for r in rounds),
        histogram=sum((r.histogram for r in rounds), Counter[int]()),
        cpu_us=sum(cpu) / count if len(cpu) == len(rounds) else None,
        thread_rates=[rate for r in rounds for rate in r.thread_rates],
    )

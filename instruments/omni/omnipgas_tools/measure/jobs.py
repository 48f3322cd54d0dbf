# SPDX-License-Identifier: BSD-3-Clause
"""Processes in place of threads: so many jobs of two ranks with one thread each, measured at the same time.

The papers' central question is what threads lose against processes; `omni pingpong --processes` answers it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from omnipgas_tools.libraries.peers import Found
from omnipgas_tools.measure.worker import END_LIMIT, Round, Worker


class Jobs:
    """All jobs of a library, started and ready; to its user one worker."""

    def __init__(self, found: Found, threads: int, size: int) -> None:
        self.found = found
        self.threads = threads
        self._workers: list[Worker] = []
        try:
            for job in range(threads):
                self._workers.append(Worker(replace(found, jobs=threads), 1, size, job))
        except BaseException:
            self.kill()
            raise
        first = self._workers[0]
        self.hello, self.command_line, self.environment = first.hello, first.command_line, first.environment
        self.startup = max(worker.startup for worker in self._workers)
        self.memory = sum(worker.memory for worker in self._workers)

    def pingpong(self, op: str, size: int, iterations: int, seconds: float, limit: float) -> Round:
        """One block of ping-pong in all jobs at once; a failure of one ends all."""

        def one(worker: Worker) -> Round:
            return worker.pingpong(op, size, iterations, seconds, limit)

        with ThreadPoolExecutor(len(self._workers)) as pool:
            try:
                return together(list(pool.map(one, self._workers)))
            except BaseException:
                self.kill()
                raise

    @property
    def pids(self) -> list[int]:
        """Their processes."""
        return [pid for worker in self._workers for pid in worker.pids]

    def stop(self) -> None:
        """Stops all of them."""
        for worker in self._workers:
            worker.stop()

    def go_on(self) -> None:
        """Lets them go on."""
        for worker in self._workers:
            worker.go_on()

    def ask_to_end(self) -> None:
        """Tells all ranks to leave; close() waits for it."""
        for worker in self._workers:
            worker.ask_to_end()

    def close(self, limit: float = END_LIMIT) -> None:
        """Lets all end properly, each within a time limit."""
        with contextlib.ExitStack() as stack:
            for worker in self._workers:
                stack.callback(worker.close, limit)

    def kill(self) -> None:
        """Ends every process at once."""
        for worker in self._workers:
            worker.kill()


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

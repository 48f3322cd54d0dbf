# SPDX-License-Identifier: BSD-3-Clause
"""The baseline, end to end: the real worker under the real driver."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import LIMIT
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.runner import Contender
from omnipgas_tools.measure.worker import Worker, WorkerError

from ..common import alive, built, children, idle_for_a_second

SHORT = Limits(rounds=2, min_rounds=2, seconds=0.005, timeout=60)


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_pingpong_measures_every_size(threads: int) -> None:
    sizes = [4, 5, 8, 4096, 1 << 20]
    out = runner.run_interleaved("pingpong", [Contender(built("raw"), "put")], [threads], sizes, SHORT)
    assert [(cell.size, cell.status) for cell in out.cells] == [(size, "ok") for size in sizes]
    for cell in out.cells:
        for r in cell.rounds:
            assert 0 < r.fastest_us <= r.slowest_us
            assert r.min_us <= r.max_us
            assert threads <= sum(r.histogram.values()) <= r.count
            assert r.bandwidth > 0


@pytest.mark.parametrize("op", ["put", "putonly"])
def test_rate_counts_messages_to_a_sleeping_target(op: str) -> None:
    out = runner.run_interleaved("rate", [Contender(built("raw"), op)], [1, 2], [8], SHORT)
    assert [cell.status for cell in out.cells] == ["ok", "ok"]
    assert all(r.rate > 0 for cell in out.cells for r in cell.rounds)


def test_the_iteration_limit_holds() -> None:
    with Worker(built("raw"), threads=2, size=64) as worker:
        assert worker.pingpong("put", 64, iterations=123, seconds=60, limit=60).count == 2 * 123


def test_an_idle_worker_burns_no_cpu() -> None:
    with Worker(built("raw"), threads=2, size=64) as worker:
        worker.pingpong("put", 64, 100, 0.01, 60)
        pids = [int(hello["pid"]) for hello in worker.hello.values()]
        assert idle_for_a_second(pids)


def test_ranks_do_not_outlive_a_driver_that_is_killed(tmp_path: Path) -> None:
    built("raw")  # or a skip
    program = """
from omnipgas_tools.measure.worker import Worker
from omni.common import built
with Worker(built("raw"), threads=2, size=64) as worker:
    print(*(hello["pid"] for hello in worker.hello.values()), flush=True)
    worker.pingpong("put", 64, 1 << 40, 60, 120)
"""
    folder = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # where it leaves its folder
    ) as driver:  # fmt: skip
        assert driver.stdout
        pids = [int(pid) for pid in driver.stdout.readline().split()]
        time.sleep(0.5)  # they are measuring
        assert len(pids) == 2
        assert all(map(alive, pids))
        driver.kill()
    limit = time.monotonic() + LIMIT
    while any(map(alive, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_an_unknown_operation_ends_the_worker_with_a_reason() -> None:
    worker = Worker(built("raw"), threads=1, size=64)
    pids = [int(hello["pid"]) for hello in worker.hello.values()]
    with pytest.raises(WorkerError, match="cannot do pingpong sendrecv") as caught, worker:
        worker.pingpong("sendrecv", 64, 10, 0.01, 20)
    assert caught.value.status == "crashed"
    assert not any(map(alive, pids))
    assert not children()

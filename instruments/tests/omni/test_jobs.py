# SPDX-License-Identifier: BSD-3-Clause
"""Processes in place of threads."""

from dataclasses import replace

import pytest
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.jobs import Jobs
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.runner import Contender
from omnipgas_tools.measure.worker import WorkerError

from .common import built, children, mock

SHORT = Limits(rounds=2, min_rounds=2, seconds=0.005, timeout=60)


def test_threads_and_processes_are_measured_in_the_same_rounds() -> None:
    found = built("raw")
    both = [Contender(found, "put"), Contender(replace(found, processes=True), "put")]
    out = runner.run_interleaved("pingpong", both, [1, 3], [8, 4096], SHORT)
    assert [(c.contender.library, c.threads, c.size, c.status) for c in out.cells] == [
        (name, threads, size, "ok") for threads in (1, 3) for size in (8, 4096) for name in ("raw", "raw processes")
    ]
    for cell in out.cells:
        assert cell.startup and cell.startup > 0
        assert cell.memory and cell.memory > 0
        for r in cell.rounds:
            assert len(r.thread_rates) == cell.threads
            assert 0 < r.fastest_us <= r.slowest_us
            assert r.cpu_us and r.cpu_us > 0
    assert not children()


def test_jobs_know_of_each_other() -> None:
    with_two = Jobs(mock("good"), 2, 64)
    try:
        assert with_two.environment["OMNI_JOB"] == "0/2"
        merged = with_two.pingpong("put", 64, 10, 0.001, 10)
        assert merged.count == 20
        assert sum(merged.histogram.values()) == 20
    finally:
        with_two.kill()
    assert not children()


@pytest.mark.parametrize("mode", ["hang", "crash", "corrupt"])
def test_a_job_that_fails_ends_the_others(mode: str) -> None:
    jobs = Jobs(mock(mode), 3, 64)
    with pytest.raises(WorkerError):
        jobs.pingpong("put", 64, 10, 0.001, 1)
    assert not children()

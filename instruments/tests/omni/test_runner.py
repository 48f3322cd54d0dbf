# SPDX-License-Identifier: BSD-3-Clause
"""Interleaving, repetition, and going on without those that fail."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import LIMIT
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.rounds import Crew, Limits
from omnipgas_tools.measure.runner import Cell
from omnipgas_tools.measure.worker import Round, Worker

from .common import Log, children, contender

FAST = Limits(rounds=4, min_rounds=2, timeout=2, seconds=0.001)


def test_rounds_of_two_libraries_are_interleaved_in_shuffled_order() -> None:
    log = Log()
    both = [contender("good", "a"), contender("good", "b")]
    limits = Limits(rounds=12, min_rounds=12, seconds=0.001)
    runner.run_interleaved("pingpong", both, [1], [64], limits, seed=5, progress=log)
    order = [line.split()[-2] for line in log.lines]
    pairs = ["".join(order[i : i + 2]) for i in range(0, len(order), 2)]
    assert set(pairs) == {"ab", "ba"}  # every round has both, in either order
    assert len(pairs) == 12


def test_equal_rounds_stop_early_and_noisy_ones_at_the_limit() -> None:
    equal = runner.run_interleaved("pingpong", [contender("good")], [1], [64], Limits(seconds=0.001))
    assert len(equal.cells[0].rounds) == Limits().min_rounds
    cell = Cell(contender("good"), "rate", 1, 8)
    cell.rounds = [Round(rate=value) for value in (1.0, 5.0, 2.0, 9.0, 3.0)]
    assert not cell.precise(Limits())


def test_rounds_are_divided_among_starts_of_the_jobs() -> None:
    log = Log()
    seen: list[list[int]] = [[]]
    limits = Limits(rounds=6, min_rounds=6, starts=3, seconds=0.001)
    out = runner.run_interleaved(
        "pingpong", [contender("good")], [1], [16, 64], limits, progress=log,
        keep=lambda _, cells: seen.append([*seen[-1], *(cell.size for cell in cells)]),
    )  # fmt: skip
    assert [line.split(" B")[0].split()[-1] for line in log.lines] == ["16", "16", "64", "64"] * 3
    assert [cell.ends for cell in out.cells] == [[2, 4, 6]] * 2
    assert seen[1:] == [[16], [16, 64]]


def test_a_library_that_fails_in_one_start_is_not_tried_in_the_next() -> None:
    limits = Limits(rounds=4, min_rounds=4, starts=2, seconds=0.001)
    both = [contender("crash"), contender("good")]
    out = runner.run_interleaved("pingpong", both, [1], [16], limits)
    assert [(cell.status, cell.ends) for cell in out.cells] == [("crashed", [0, 0]), ("ok", [2, 4])]


def test_only_the_worker_in_use_runs() -> None:
    one, other = (Cell(contender("good", name), "pingpong", 1, 8) for name in "ab")
    with crew() as both:
        workers = [both.job(one), both.job(other)]
        assert come_to(workers, "TS")
        assert both.job(one) is workers[0]
        found = both.turn(one, 0)
        assert found and found.count == 10
        assert come_to(workers, "ST")
    assert not children()


def crew() -> Crew[Cell, Worker, Round]:
    """Of the mocks."""
    return Crew(
        lambda cell: Worker(cell.contender.found, 1, 64),
        lambda worker, cell, _: worker.pingpong(cell.contender.op, cell.size, 10, 1.0, 5.0),
    )


def test_stopped_workers_end_when_the_driver_is_killed(tmp_path: Path) -> None:
    script = """
import sys, time
from omni.test_runner import Cell, contender, crew
both = crew()
pids = [pid for name in "ab" for pid in both.job(Cell(contender("good", name), "pingpong", 1, 8)).pids]
print(*pids, flush=True)
time.sleep(60)
"""
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # where it leaves its folders
    ) as driver:  # fmt: skip
        assert driver.stdout is not None
        pidfds = [os.pidfd_open(int(pid)) for pid in driver.stdout.readline().split()]
        driver.kill()
    assert len(pidfds) == 4
    for pidfd in pidfds:
        assert select.select([pidfd], [], [], LIMIT)[0], "a worker is still there"
        os.close(pidfd)


def come_to(workers: Sequence[Worker], states: str) -> bool:
    """Whether all processes of each worker come to its state: S sleeps, T is stopped."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        if [{state(pid) for pid in worker.pids} for worker in workers] == [{each} for each in states]:
            return True
        time.sleep(0.01)
    return False


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("mode", ["hang", "crash", "corrupt"])
def test_a_failing_library_is_reported_and_the_others_go_on(mode: str) -> None:
    out = runner.run_interleaved(
        "pingpong", [contender("good"), contender(mode, fail_at=64)], [1], [32, 64, 128], FAST
    )
    statuses = {cell.size: cell.status for cell in out.cells if cell.contender.library == mode}
    # It failed at 64 bytes only: its worker was started again for the next size.
    assert statuses == {32: "ok", 64: {"hang": "hung", "crash": "crashed"}.get(mode, mode), 128: "ok"}
    good = [cell for cell in out.cells if cell.contender.library == "good"]
    assert [cell.status for cell in good] == ["ok"] * 3
    assert all(len(cell.rounds) >= 2 for cell in good)
    assert not children()


@pytest.mark.long
def test_a_library_that_always_fails_is_given_up() -> None:
    out = runner.run_interleaved("pingpong", [contender("crash")], [1, 2], [8, 16, 32], FAST)
    assert [c.status for c in out.cells] == ["crashed", "crashed", "skipped"] * 2
    assert "not tried, after: pingpong put, threads 2, 16 B" in out.cells[-1].reason


def test_ctrl_c_keeps_what_was_measured() -> None:
    out = runner.run_interleaved(
        "pingpong", [contender("good")], [1], [32, 64, 128], FAST, progress=Log("64 B, round 2")
    )
    assert out.interrupted
    assert [cell.size for cell in out.cells] == [32, 64]
    assert out.cells[0].rounds
    assert not children()


def test_how_a_library_was_started_is_kept() -> None:
    out = runner.run_interleaved("pingpong", [contender("good")], [2], [64], FAST)
    assert "hostile_worker.py" in " ".join(out.started["good, 2 threads"]["command"])

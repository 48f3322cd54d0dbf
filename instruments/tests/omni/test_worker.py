# SPDX-License-Identifier: BSD-3-Clause
"""What the driver says of workers that misbehave, and that it leaves nothing of them."""

import signal

import pytest
from commands import LIMIT
from omnipgas_tools import interrupts
from omnipgas_tools.measure import worker as module
from omnipgas_tools.measure.worker import Worker, WorkerError

from .common import alive, children, mock


def block(mode: str, limit: float = 20) -> tuple[WorkerError, list[int]]:
    """The failure of one block, and the ranks' process numbers."""
    started = Worker(mock(mode), threads=2, size=64)
    pids = [int(hello["pid"]) for hello in started.hello.values()]
    with pytest.raises(WorkerError) as caught, started:
        started.pingpong("put", 64, 10, 0.01, limit)
    return caught.value, pids


@pytest.mark.parametrize(
    ("mode", "status", "evidence"),
    [
        ("hang", "hung", ["pingpong put, threads 2, 64 B", "no answer within 1 s", "rank 0 (pid", "threads 1xS"]),
        ("crash", "crashed", ["rank 1 ended", "stderr: about to fall over"]),
        ("corrupt", "corrupt", ["rank 1: thread 0, exchange 3: byte 8 of 64 differs"]),
        ("babble", "crashed", ["this is not JSON"]),
    ],
)
def test_failure_is_named_with_evidence_and_nothing_survives(mode: str, status: str, evidence: list[str]) -> None:
    failure, pids = block(mode, limit=1 if mode == "hang" else 20)
    assert failure.status == status
    for text in evidence:
        assert text in failure.reason
    assert not any(map(alive, pids))
    assert not children()


def test_a_worker_that_never_says_hello_is_hung(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_LIMIT", 0.5)
    with pytest.raises(WorkerError, match=r"not started after 2\.5 s") as caught:
        Worker(mock("mute"), threads=1, size=64)
    assert caught.value.status == "hung"
    assert not children()


def test_a_program_that_ends_at_once_is_crashed() -> None:
    found = mock("good")
    found.library.launch[:] = ["/bin/sh", "-c", "echo no such device >&2; exit 7", "sh"]
    with pytest.raises(WorkerError, match="exit status 7; stderr: no such device") as caught:
        Worker(found, threads=1, size=64)
    assert caught.value.status == "crashed"


def test_figures_are_one_way_and_bandwidth_is_the_sum_over_threads() -> None:
    with Worker(mock("good"), threads=4, size=64) as good:
        found = good.pingpong("put", 64, 10, 0.01, 20)
    # The mock's threads say 10 round trips in 1280 us: 64 us one way.
    assert found.slowest_us == found.fastest_us == found.mean_us == pytest.approx(64)
    assert found.bandwidth == pytest.approx(4 * 64 / 64)
    assert found.count == 40


def test_rate_is_the_sum_over_threads() -> None:
    with Worker(mock("good"), threads=4, size=8) as good:
        assert good.rate("put", 8, 10, 0.01, 20).rate == pytest.approx(4 * 10 / 160)


def test_a_flow_takes_about_the_time_asked_for_and_counts_claims() -> None:
    with Worker(mock("good"), threads=2, size=8) as good:
        first = good.flow("put", 8, 1 << 20, 0.01, 20)
        again = good.flow("put", 8, 1 << 20, 0.01, 20)
    assert first.rate == pytest.approx(again.rate) == pytest.approx(2 * 0.5)
    assert first.bandwidth == pytest.approx(8)  # MB/s
    assert 2500 <= again.count / 2 <= 5000  # 5 to 10 ms
    assert again.failed_claims == pytest.approx(3)


def test_closing_is_prompt_and_leaves_nothing() -> None:
    good = Worker(mock("good"), threads=1, size=64)
    good.close(LIMIT)
    assert good._process.returncode == 0, "it ended by itself"
    assert not children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_process_is_started_waits_until_it_is_known(number: int) -> None:
    before = signal.signal(number, signal.default_int_handler)
    steps = []
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.Held() as held:
            signal.raise_signal(number)
            steps.append("started")
            held.release()
            steps.append("released")
        assert steps == ["started"]
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)

# SPDX-License-Identifier: BSD-3-Clause
"""What the study models, against sums by hand: two ranks that exchange k bytes, on a machine of round numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from omnipgas_tools.halo.pattern import Pattern
from omnipgas_tools.model import predict
from omnipgas_tools.study import schedule
from omnipgas_tools.study.schedule import Compute, Part

from .conftest import GS, LATENCY, ORS, OSS, OVERHEAD

RESET = 100.0
ENTRY, ROW = 2.0, 8.0  # ns
COUNTS = (3, 5)


def t1(k: int) -> float:
    return OVERHEAD + k * OSS


def t2(k: int) -> float:
    return LATENCY + k * GS


def t3(k: int) -> float:
    return OVERHEAD + k * ORS


def message(k: int) -> float:
    return t1(k) + t2(k) + t3(k)


def double_buffer(k: int, own: float) -> float:
    """A post, a look at the flag and a wait; or the message; or what is left of it once the flag is looked at."""
    return max(3 * OVERHEAD + own, message(k), OVERHEAD + own + t3(k))


def single(k: int, own: float) -> float:
    return RESET + message(schedule.FLAG) + double_buffer(k, own)


def mpi(k: int, own: float) -> float:
    """Posted receive and send, and a wait; or the message, which leaves behind the receive's post."""
    return max(3 * OVERHEAD + own, OVERHEAD + message(k))


def modelled(folder: Path, params: Path, pattern: Pattern, parts: list[Part], strategy: str, work: str) -> float:
    """Nanoseconds of an iteration."""
    times = []
    for count in COUNTS:
        path = folder / f"{count}.goal"
        path.write_text(schedule.goal(pattern, parts, strategy, work, Compute(ENTRY, ROW), RESET, count))
        found = predict.run(str(path), str(params), "loggps", ["--no-sensitivity"])
        assert not found["unmatched"]
        times.append(1e9 * float(found["predicted_seconds"]))
    return (times[1] - times[0]) / (COUNTS[1] - COUNTS[0])


PAIR = Pattern(2, {(0, 1): 800, (1, 0): 800})


@pytest.mark.parametrize("entries", [100, 5000])  # the message takes longer than the computation, and not
@pytest.mark.parametrize(("strategy", "expected"), [("double-buffer", double_buffer), ("single", single), ("mpi", mpi)])
def test_an_iteration_of_two_ranks(
    tmp_path: Path, params: Path, strategy: str, expected: Callable[[int, float], float], entries: int
) -> None:
    parts = [Part(rows=50, entries=entries, cut=20)] * 2
    product = expected(800, (entries - 20) * ENTRY) + 20 * ENTRY
    for work, rest in (
        ("spmv", 0.0),
        ("spmv+dot", message(schedule.SUM)),
        ("cg", 2 * message(schedule.SUM) + 50 * ROW),
    ):
        assert modelled(tmp_path, params, PAIR, parts, strategy, work) == pytest.approx(product + rest, abs=1), work


def test_who_only_receives_still_signals_where_nothing_else_keeps_its_sender_back(tmp_path: Path, params: Path) -> None:
    pattern = Pattern(2, {(0, 1): 800})
    parts = [Part(rows=1, entries=10, cut=0), Part(rows=1, entries=1000, cut=10)]
    for strategy, sends in (("double-buffer", [1, 1]), ("single", [1, 1]), ("mpi", [1, 0])):
        text = schedule.goal(pattern, parts, strategy, "spmv", Compute(ENTRY, ROW), RESET, 1)
        ranks = text.split("rank ")[1:]
        assert [rank.count(": send") for rank in ranks] == sends, strategy
        assert modelled(tmp_path, params, pattern, parts, strategy, "spmv") >= 1000 * ENTRY


@pytest.mark.parametrize("ranks", [3, 7, 8, 100])
def test_sums_meet_at_any_number_of_ranks(tmp_path: Path, params: Path, ranks: int) -> None:
    pattern = Pattern(ranks, {(rank, (rank + 1) % ranks): 8 for rank in range(ranks)})
    parts = [Part(rows=1, entries=1, cut=0)] * ranks
    steps = (ranks.bit_length() - 1) + (2 if ranks & (ranks - 1) else 0)
    alone = modelled(tmp_path, params, pattern, parts, "mpi", "spmv")
    summed = modelled(tmp_path, params, pattern, parts, "mpi", "spmv+dot")
    # Each step is a message; ranks come together, so little of it hides behind another's.
    assert summed - alone >= (steps - 1) * message(schedule.SUM)
    assert summed - alone <= steps * message(schedule.SUM) + alone

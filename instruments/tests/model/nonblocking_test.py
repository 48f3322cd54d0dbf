# SPDX-License-Identifier: BSD-3-Clause
"""Nonblocking collectives of traces: they go on in the background from their posting, as equation (11) has it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import predict

from . import common, recorded
from .export_test import goal_of
from .recorded import WORLD, record

MYRINET = common.machine("Myrinet")
OVERHEAD, LATENCY = MYRINET["o"], MYRINET["L"]
BARRIER = 3 * OVERHEAD + LATENCY  # of two that call it at once: a receive is posted, a message sent, and received


def collective(kind: str, begin: int, size: int = 0, request: int = 0) -> bytes:
    return record(kind, begin, begin, size, comm=WORLD, request=request)


def wait(begin: int, request: int) -> bytes:
    return record("Wait", begin, begin, request=request)


def time_of(folder: Path, *calls: list[bytes], more: Callable[[int], list[bytes]] = lambda _: []) -> list[float]:
    """Nanoseconds of each rank, which begin at 0; what it does ends with its last call."""
    starts, ends = [record("Init", 0, 0)], [record("Finalize", 10**9, 10**9)]
    recorded.write(folder, [starts + one + [record("Opaque", 10**9, 10**9)] + ends for one in calls], more)
    found = predict(folder)
    assert found["unmatched_count"] == 0
    rows = found["per_rank"]
    return [sum(row.values()) * 1e9 - 10**9 + last(one) for row, one in zip(rows, calls, strict=True)]


def last(calls: list[bytes]) -> int:
    """When the last call ended; side records are none."""
    kinds = {recorded.KINDS[kind] for kind in ("Ids", "Counts", "Word")}
    return next(int.from_bytes(one[8:16], "little") for one in reversed(calls) if _kind(one) not in kinds)


def _kind(one: bytes) -> int:
    return int.from_bytes(one[44:46], "little")


@pytest.mark.parametrize("work", [0, 1000, round(BARRIER), 10**6])
@pytest.mark.parametrize("late", [0, 5000, 10**6])
def test_a_barrier_goes_on_while_two_ranks_compute(tmp_path: Path, work: int, late: int) -> None:
    """Each ends when the blocking one would have ended, but not before its wait was called and took o'."""
    begins = [0, late]
    calls = [[collective("Ibarrier", begin, request=7), wait(begin + work, 7)] for begin in begins]
    # The message of the one that is late leaves o' after its call, and that of the other is there.
    blocking = [late + BARRIER, max(late + OVERHEAD + 2 * OVERHEAD, BARRIER)]
    expected = [max(end, begin + OVERHEAD + work + OVERHEAD) for begin, end in zip(begins, blocking, strict=True)]
    found = time_of(tmp_path, *calls)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", ["Barrier", "Allgather", "Alltoall", "Allreduce"])
def test_without_computation_it_takes_the_time_of_the_blocking_one(tmp_path: Path, kind: str, ranks: int) -> None:
    times = []
    for name, more in ((kind, []), (f"I{kind.lower()}", [wait(200, 7)])):
        calls = [collective(name, 200, 64, request=7 if more else 0), *more]
        times.append(time_of(tmp_path, *[calls] * ranks))
    assert times[0] == pytest.approx(times[1], rel=1e-9)


def test_the_waiting_of_a_collective_is_that_of_the_wait_for_it(tmp_path: Path) -> None:
    late, work = 10**6, 4000
    calls = [[collective("Ibarrier", begin, request=7), wait(begin + work, 7)] for begin in (0, late)]
    time_of(tmp_path, *calls)
    early = predict(tmp_path)["per_rank"][0]
    waits_from, message_comes = 2 * OVERHEAD + 0.0, late + OVERHEAD + OVERHEAD + LATENCY
    assert early["recv_wait"] * 1e9 == pytest.approx(message_comes - max(waits_from, OVERHEAD + work), rel=1e-9)
    assert early["send_wait"] == 0


def test_operations_of_one_communicator_at_once_are_told_apart(tmp_path: Path) -> None:
    """Rank 1 posts a long one and a short one; the other waits for the short one first."""
    long, short = 30000, 8
    alone = time_of(tmp_path, *[[collective("Iallreduce", 0, short, request=1), wait(0, 1)]] * 3)
    posts = [collective("Iallreduce", 0, long, request=1), collective("Iallreduce", 0, short, request=2)]
    between = [collective("Barrier", 0)]
    first = time_of(tmp_path, *[[*posts, wait(0, 2)]] * 3)
    both = time_of(tmp_path, *[[*posts, *between, wait(0, 2), wait(0, 1)]] * 3)
    for rank in range(3):
        assert alone[rank] <= first[rank] < both[rank]
        assert first[rank] < 3 * alone[rank] + long * MYRINET["Osl"]  # the long one is not waited for


def test_a_collective_that_is_never_called_by_all_is_named(tmp_path: Path) -> None:
    start, end = record("Init", 0, 0), record("Finalize", 10**6, 10**6)
    recorded.write(tmp_path, [[start, collective("Ibarrier", 0, request=7), wait(10, 7), end], [start, end]])
    said = predict(tmp_path, fails=True)
    assert "1 of 2 ranks stand still for ever" in said
    assert "receives from rank 1" in said


@pytest.mark.parametrize("site", [0, 1])
def test_a_loop_of_tests_is_a_wait(tmp_path: Path, site: int) -> None:
    """Tests that find nothing take no time, one by one or many in a record, nor does the loop between them."""
    found, repeated, computed = 4, 256, 10**6
    calls = [
        collective("Ibarrier", 0, request=7),
        record("Test", computed, computed + 40, site=site),
        record("Test", computed + 70, computed + 5000, 99, flags=repeated, site=site),
        record("Test", computed + 5030, computed + 5060, request=7, flags=found, site=site),
    ]
    between = 0 if site else 30 + 30  # calls of no known site are not one loop
    assert time_of(tmp_path, *[calls] * 2) == pytest.approx([2 * OVERHEAD + computed + between] * 2, rel=1e-9)


def test_a_loop_that_looks_from_several_places_is_a_wait(tmp_path: Path) -> None:
    """As hypre looks: for messages, for its own to be over, for all to be over."""
    found, repeated, computed = 4, 256, 10**6
    first = [record(kind, computed + at, computed + at + 10, site=site)
             for site, (kind, at) in enumerate((("Iprobe", 0), ("Testall", 20), ("Test", 40)), 1)]  # fmt: skip
    calls = [
        collective("Ibarrier", 0, request=7),
        *first,
        record("Iprobe", computed + 60, computed + 50_000, 99, flags=repeated, site=1),
        record("Testall", computed + 50_020, computed + 50_030, site=2),
        record("Test", computed + 50_060, computed + 50_070, request=7, flags=found, site=3),
        record("Test", computed + 52_000, computed + 52_010, request=7, site=3),  # after a computation
    ]
    between = 10 + 10 + 52_000 - 50_070  # before each place is known, and the computation
    assert time_of(tmp_path, *[calls] * 2) == pytest.approx([2 * OVERHEAD + computed + between] * 2, rel=1e-9)


def test_as_a_goal_schedule_it_is_a_chain_of_its_own(tmp_path: Path) -> None:
    calls = [collective("Ibarrier", 0, request=7), wait(10**6, 7)]
    time_of(tmp_path, *[calls] * 2)
    schedule = tmp_path / "x.goal"
    assert goal_of(tmp_path, schedule) == ""
    rank = schedule.read_text().split("rank 1")[0]
    (work,) = (line.split(":")[0] for line in rank.splitlines() if line.endswith(": calc 1000000"))
    assert f"{work} requires" not in rank
    assert predict(schedule)["messages"] == 2

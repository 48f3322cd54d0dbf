# SPDX-License-Identifier: BSD-3-Clause
"""One-sided operations and neighbour collectives of traces: messages with their costs."""

from pathlib import Path
from typing import Any

import commands
import pytest
from commands import MODEL, predict, refusal

from . import common, recorded
from .nonblocking_test import BARRIER, LATENCY, OVERHEAD, time_of, wait
from .recorded import WORLD, record

P = common.machine("Myrinet")
K = 500
BEGIN = 1000  # of the calls
EXACT = pytest.approx


def way(k: int) -> float:
    """From the call of an eager send to the end of its receive: T1 + T2 + T3."""
    gap = k * P["Gs"] if k <= P["s"] else P["s"] * P["Gs"] + (k - P["s"]) * P["Gl"]
    return 2 * OVERHEAD + k * (P["Oss"] + P["Ors"]) + gap + LATENCY


def call(kind: str, begin: int = BEGIN, peer: int = -3, size: int = 0, request: int = 0, flags: int = 0) -> bytes:
    return record(kind, begin, begin, size, peer, comm=1, request=request, flags=flags)


def epoch(kind: str, ranks: list[int]) -> list[bytes]:
    return [call(kind), *recorded.ids(ranks)]


def run(folder: Path, *calls: list[bytes]) -> list[float]:
    """Nanoseconds of each rank. Window 1 and 2 are of the world."""
    return time_of(folder, *calls, more=lambda _: [recorded.window(1, WORLD), recorded.window(2, WORLD)])


@pytest.mark.parametrize("size", [0, 1, K, 65472])
@pytest.mark.parametrize(
    ("kind", "there", "back"),
    [("Put", 1, 0), ("Accumulate", 1, 0), ("Rput", 1, 0), ("Get", 0, 1), ("Rget", 0, 1), ("FetchAndOp", 1, 1)],
)
def test_an_access_takes_its_way_there_and_back(tmp_path: Path, kind: str, there: int, back: int, size: int) -> None:
    """No handshake at any length; the target does nothing for it."""
    expected = BEGIN + way(there * size) + way(back * size)
    for ends in ("WinUnlock", "WinFlush", "WinUnlockAll"):
        calls = [call("WinLock", peer=1), call(kind, peer=1, size=size, request=kind.startswith("R"))]
        origin, target = run(
            tmp_path, [*calls, call(ends, peer=1 if ends != "WinUnlockAll" else -3)], [call("WinLock")]
        )
        assert origin == EXACT(expected, rel=1e-9)
        assert target == BEGIN
    assert predict(tmp_path)["messages"] == 2
    to_itself = [call(kind, peer=0, size=size, request=kind.startswith("R")), call("WinFlush", peer=0)]
    assert run(tmp_path, to_itself, [call("WinLock")])[0] == EXACT(expected, rel=1e-9)


def test_what_is_waited_for_is_what_was_asked(tmp_path: Path) -> None:
    work = 10**7
    put = [call("Put", peer=1, size=K)]
    left = OVERHEAD + K * P["Oss"]
    for ends, time in (
        ([call("WinFlushLocal", peer=1)], max(left, 2 * OVERHEAD)),
        ([call("WinFlush", peer=0)], OVERHEAD),  # another target
        ([call("WinUnlock", BEGIN + work, peer=1)], OVERHEAD + work + OVERHEAD),  # over long since
        ([call("WinFlushLocal", peer=1), call("WinUnlock", peer=1)], way(K) + way(0)),
        ([record("WinFlush", BEGIN, BEGIN, 0, 1, comm=2)], OVERHEAD),  # another window
    ):
        assert run(tmp_path, put + ends, [call("WinLock")])[0] == EXACT(BEGIN + time, rel=1e-9)
    posted = [call("Rput", peer=1, size=K, request=9)]
    alone = run(tmp_path, [*posted, wait(BEGIN, 9)], [call("WinLock")])[0]
    assert alone == EXACT(BEGIN + max(left, 2 * OVERHEAD), rel=1e-9)
    both = run(tmp_path, [*posted, wait(BEGIN, 9), call("WinFlush", peer=1)], [call("WinLock")])[0]
    assert both == EXACT(BEGIN + way(K) + way(0), rel=1e-9)
    swapped = run(tmp_path, [*posted, call("WinFlush", peer=1), wait(BEGIN, 9)], [call("WinLock")])[0]
    assert swapped == EXACT(both, rel=1e-9)
    got = [call("Rget", peer=1, size=K, request=9), wait(BEGIN, 9), call("WinUnlock", peer=1)]
    assert run(tmp_path, got, [call("WinLock")])[0] == EXACT(BEGIN + way(0) + way(K), rel=1e-9)


def test_a_fence_ends_what_is_outstanding_and_is_a_barrier(tmp_path: Path) -> None:
    empty = run(tmp_path, *[[call("WinFence")]] * 2)
    assert empty == EXACT([BEGIN + BARRIER] * 2, rel=1e-9)
    origin = [call("WinFence"), call("Put", peer=1, size=K), call("Put", peer=1, size=K), call("WinFence")]
    first, second = run(tmp_path, origin, [call("WinFence"), call("WinFence")])
    # The second put leaves o' after the first, and shares nothing of the receiver with it that matters here.
    assert first > BEGIN + 2 * BARRIER + way(K) + way(0) - OVERHEAD
    assert second == EXACT(first, abs=2 * OVERHEAD)
    assert predict(tmp_path)["not_modelled"] == {"Opaque": 2}


def test_an_epoch_of_posts_and_starts(tmp_path: Path) -> None:
    origin = [*epoch("WinStart", [1]), call("Put", peer=1, size=K), call("WinComplete")]
    target = [*epoch("WinPost", [0]), call("WinTest"), call("WinTest", flags=4)]
    for ends in (call("WinTest", flags=4), call("WinWait")):
        target[-1] = ends
        first, second = run(tmp_path, origin, target)
        started = BEGIN + way(0)
        completed = started + way(K) + way(0)
        assert first == EXACT(completed + OVERHEAD, rel=1e-9)
        assert second == EXACT(completed + way(0), rel=1e-9)


def test_windows_of_one_communicator_are_told_apart(tmp_path: Path) -> None:
    """The target posts the second window only when the first is done."""

    def of(window: int, kind: str, ranks: list[int] | None = None) -> list[bytes]:
        return [record(kind, BEGIN, BEGIN, 0, comm=window), *recorded.ids(ranks or [])]

    origin = [*of(1, "WinStart", [1]), *of(1, "WinComplete"), *of(2, "WinStart", [1]), *of(2, "WinComplete")]
    target = [*of(1, "WinPost", [0]), *of(1, "WinWait"), *of(2, "WinPost", [0]), *of(2, "WinWait")]
    assert run(tmp_path, origin, target)[0] == EXACT(BEGIN + 3 * way(0) + OVERHEAD, rel=1e-9)
    crossed = [*of(2, "WinPost", [0]), *of(2, "WinWait"), *of(1, "WinPost", [0]), *of(1, "WinWait")]
    recorded.write(
        tmp_path,
        [[record("Init", 0, 0), *calls, record("Finalize", 10**6, 10**6)] for calls in (origin, crossed)],
        lambda _: [recorded.window(1, WORLD), recorded.window(2, WORLD)],
    )
    assert "2 of 2 ranks stand still for ever" in predict(tmp_path, fails=True)


def own(kind: str, begin: int = BEGIN, peer: int = -3, size: int = 0, flag: int = 0, flags: int = 0) -> bytes:
    """An operation of this layer."""
    return record(f"Ompl{kind}", begin, begin, size, peer, comm=WORLD, request=flag, flags=flags)


@pytest.mark.parametrize("size", [0, K, 65472])
def test_a_signal_is_a_message_to_who_waits_for_its_flag(tmp_path: Path, size: int) -> None:
    """With its data, be they put by the same call or by the one before; the flag of another does not wake."""
    nothing = own("Flush")
    for calls, more in (
        ([own("PutSignal", peer=1, size=size, flag=9)], 0.0),
        ([own("Put", peer=1, size=size), own("PutWord", peer=1, flag=9)], 0.0),
        ([own("PutWord", peer=1, flag=8), nothing, own("PutSignal", peer=1, size=size, flag=9)], OVERHEAD),
    ):
        polls = [own("Poll"), own("Poll", flags=256, size=77), own("Poll", flags=4)]
        waits = [own("Wait", flag=8)] if more else []
        first, second = time_of(tmp_path, calls, [*polls, own("Wait", flag=9), *waits])
        assert first == EXACT(BEGIN + more + OVERHEAD + size * P["Oss"], rel=1e-9)
        late = OVERHEAD if more else 0  # the second wait
        assert second == EXACT(BEGIN + more + way(size) + late, rel=1e-9)
        assert predict(tmp_path)["messages"] == (2 if more else 1)


def test_a_put_is_over_when_it_left_and_a_flush_waits_for_its_reply(tmp_path: Path) -> None:
    left = OVERHEAD + K * P["Oss"]
    puts = [own("Put", peer=1, size=K)]
    for ends, time in (
        ([], left),
        ([own("Flush")], way(K) + way(0)),
        ([own("Flush", BEGIN + 10**7)], left + 10**7 + OVERHEAD),
    ):
        assert time_of(tmp_path, puts + ends, [own("Flush")])[0] == EXACT(BEGIN + time, rel=1e-9)
    get = [own("Get", peer=1, size=K)]
    assert time_of(tmp_path, get, [own("Flush")]) == EXACT([BEGIN + way(0) + way(K), BEGIN], rel=1e-9)
    assert time_of(tmp_path, *[[own("Barrier")]] * 2) == EXACT([BEGIN + BARRIER] * 2, rel=1e-9)


def test_a_wait_takes_the_signal_that_comes_first(tmp_path: Path) -> None:
    """Two ranks signal one flag of a third, which waits twice."""
    late = 10**6
    signals = [[own("PutWord", BEGIN + begin, peer=2, flag=5)] for begin in (late, 0)]
    times = time_of(
        tmp_path, *signals, [own("Wait", flag=5), own("Put", BEGIN + 10, peer=0), own("Wait", BEGIN + 10, flag=5)]
    )
    assert times[2] == EXACT(BEGIN + late + way(0), rel=1e-9)
    alone = [own("Wait", flag=5), record("Opaque", BEGIN, BEGIN)]
    recorded.write(
        tmp_path,
        [[record("Init", 0, 0), *calls, record("Finalize", BEGIN + late, BEGIN + late)] for calls in (*signals, alone)],
    )
    found = predict(tmp_path)
    assert found["unmatched_count"] == 1  # that of rank 0, for which nobody waits
    assert found["unmatched"][0]["rank"] == 0


ADD, TAKE, GREATER_OR_EQUAL = 2, 0, 4
INTERRUPTED = 1024


def test_a_comparison_takes_the_signals_up_to_the_one_it_needs(tmp_path: Path) -> None:
    """Three signals, the second of value 2: the first wait needs two of them, the second none, the third the last."""
    signals = [own("PutWord", BEGIN, 1, flag=5), own("Signal", BEGIN + 1, 1, flag=5), recorded.word(5, ADD, 2)]
    signals.append(own("PutWord", BEGIN + 2, 1, flag=5))
    late = 10**5
    waits = []
    for value in (3, 2, 4):
        waits += [own("WaitUntil", BEGIN + late), recorded.word(5, GREATER_OR_EQUAL, value)]
    times = time_of(tmp_path, signals, waits)
    assert times[1] == EXACT(BEGIN + late + 3 * OVERHEAD, rel=1e-9)
    found = predict(tmp_path)
    assert (found["messages"], found["unmatched_count"]) == (3, 0)


def test_an_atomic_is_a_message_to_who_waits_or_an_access(tmp_path: Path) -> None:
    atomic = [own("Atomic", peer=1, size=4), recorded.word(5, ADD, 1)]
    wait = [own("WaitUntil"), recorded.word(5, GREATER_OR_EQUAL, 1)]
    assert time_of(tmp_path, atomic, wait)[1] == EXACT(BEGIN + way(4), rel=1e-9)
    assert predict(tmp_path)["messages"] == 1
    time_of(tmp_path, [*atomic, own("Flush")], [own("Flush")])
    assert predict(tmp_path)["messages"] == 2


def test_a_handle_waits_for_the_reply(tmp_path: Path) -> None:
    put = [own("PutNb", peer=1, size=K, flag=7)]
    nothing = [own("Flush")]
    assert time_of(tmp_path, [*put, own("HandleWait", flag=7)], nothing)[0] == EXACT(BEGIN + way(K) + way(0), rel=1e-9)
    retried = [own("PutNb", peer=1, size=K, flags=512)]
    assert time_of(tmp_path, retried, nothing)[0] == BEGIN


def test_a_function_that_ran_in_a_barrier_does_not_hold_it_up(tmp_path: Path) -> None:
    """Its caller had left the barrier and called before the target had: the call waits for it, not it for the call."""
    caller = [own("Barrier"), own("CallNb", peer=1, size=8, flag=5), own("HandleWait", flag=5)]
    waited = record("OmplFunction", BEGIN, BEGIN + 100, 8, 0, comm=WORLD)  # since the barrier's begin
    inside = [waited, own("Reply", BEGIN + 100, peer=0)]
    barrier = record("OmplBarrier", BEGIN + 100, BEGIN + 200, comm=WORLD, flags=INTERRUPTED)
    times = time_of(tmp_path, caller, [*inside, barrier])
    assert times[0] == EXACT(BEGIN + BARRIER + way(8) + way(8), rel=1e-9)
    assert times[1] == EXACT(BEGIN + BARRIER, rel=1e-9)
    assert predict(tmp_path)["unmatched_count"] == 0


TASK, LATE = 300, 500  # ns: what a task computes, and how late a signal is


def task(waits: list[int], begin: int = BEGIN) -> list[bytes]:
    return [own("TaskBegin", begin, flag=1), *recorded.ids(waits), own("TaskEnd", begin + TASK, flag=1)]


def test_a_task_computes_once_what_it_waited_for_is_there(tmp_path: Path) -> None:
    """The callback of a flag alone holds nobody up."""
    signal = [own("PutWord", BEGIN + LATE, peer=1, flag=5)]
    watch = [own("FlagThen", flag=7), recorded.word(5, TAKE, 0)]
    assert time_of(tmp_path, signal, watch + task([]))[1] == EXACT(BEGIN + TASK, rel=1e-9)
    assert time_of(tmp_path, signal, watch + task([7]))[1] == EXACT(BEGIN + LATE + way(0) + TASK, rel=1e-9)
    found = predict(tmp_path)
    computed = {row["where"]: row["compute"] for row in found["per_site"] if row["where"].startswith("task ")}
    assert computed == {"task ?": EXACT(TASK * 1e-9)}
    assert found["not_modelled"] == {"Opaque": 2}


def test_a_task_waits_in_whichever_thread_it_begins(tmp_path: Path) -> None:
    begin = record("Init", 0, 0)
    signal = [begin, own("PutWord", BEGIN + LATE, peer=1, flag=5), record("Finalize", BEGIN + LATE, BEGIN + LATE)]
    watch = [begin, own("FlagThen", flag=7), recorded.word(5, TAKE, 0), record("Finalize", BEGIN, BEGIN)]
    for waits, time in (([], BEGIN + LATE), ([7], BEGIN + LATE + way(0) + TASK)):
        recorded.write(tmp_path, [signal, watch], threads=[(1, task(waits, BEGIN + 1))])
        found = predict(tmp_path)
        assert found["predicted_seconds"] == EXACT(time * 1e-9, abs=(0 if waits else OVERHEAD) * 1e-9 + 1e-15)
        assert found["unmatched_count"] == 0


def halo(rank: int, sent: int, received: int) -> list[bytes]:
    lists = [*recorded.ids([rank]), *recorded.counts(False, [sent]), *recorded.counts(True, [received])]
    return [own("HaloCreate", flag=1), *lists]


@pytest.mark.parametrize("ends", ["HaloWait", "HaloWaitSome"])
def test_an_exchange_is_a_message_to_each_neighbour(tmp_path: Path, ends: str) -> None:
    """One way only: rank 0 receives nothing."""
    start = own("HaloStart", flag=1)
    some = [own(ends, size=1, flag=1), *(recorded.ids([0]) if ends == "HaloWaitSome" else [])]
    times = time_of(tmp_path, [*halo(1, K, 0), start, own("HaloWait", flag=1)], [*halo(0, 0, K), start, *some])
    assert times[0] == EXACT(BEGIN + BARRIER + OVERHEAD + K * P["Oss"], rel=1e-9)
    assert times[1] == EXACT(BEGIN + BARRIER + way(K), rel=1e-9)
    found = predict(tmp_path)
    assert (found["messages"], found["unmatched_count"]) == (2 + 1, 0)


def test_goal_has_no_form_for_it(tmp_path: Path) -> None:
    run(tmp_path, [call("Put", peer=1, size=K), call("WinUnlock", peer=1)], [call("WinLock")])
    said = refusal(commands.run(MODEL, "goal", tmp_path, tmp_path / "x.goal"))
    assert "rank 0: one-sided operations have no form in GOAL" in said


GRID, COPY = 5, 6


def neighbours(folder: Path, kind: str, topologies: list[list[bytes]], made_by: str, comm: int, **more: Any) -> Any:
    ranks = len(topologies)

    def definitions(rank: int) -> list[bytes]:
        made = recorded.communicator(GRID, 55, rank, ranks, [], WORLD, made_by)
        made += recorded.communicator(COPY, 66, rank, ranks, [], GRID, "CommDup")
        return made + topologies[rank]

    calls = []
    for rank in range(ranks):
        one = [record(kind, BEGIN, BEGIN, K, comm=comm, request=7 if kind.startswith("I") else 0)]
        if "counts" in more:
            one += recorded.counts(False, more["counts"][rank])
        if kind.startswith("I"):
            one.append(wait(BEGIN, 7))
        calls.append(one)
    times = time_of(folder, *calls, more=definitions)
    return times, predict(folder)


@pytest.mark.parametrize("kind", ["NeighborAllgather", "IneighborAlltoall"])
@pytest.mark.parametrize("copied", [False, True])
def test_a_grid_exchanges_with_its_neighbours(tmp_path: Path, kind: str, copied: bool) -> None:
    """Of 2 x 3, the second dimension a ring: 2 columns x 3 messages x 2 ways along it, 3 x 2 across."""
    comm, maker = (COPY, "CommDup") if copied else (GRID, "CartCreate")
    shape = [recorded.topology(comm, maker, [2, 3], [0, 1]) for _ in range(6)]
    times, found = neighbours(tmp_path, kind, shape, "CartCreate", comm)
    assert found["messages"] == 2 * 3 * 2 + 3 * 2
    assert found["not_modelled"] == {"Opaque": 6}
    assert times == EXACT([times[0]] * 6, rel=1e-9)  # each has three
    # Three receives are posted, then three messages sent; the last of three leaves 5 o' after the call.
    assert times[0] - BEGIN > 5 * OVERHEAD + way(K)


def test_a_graph_exchanges_along_its_edges(tmp_path: Path) -> None:
    """0 -> 1 -> 2 -> 0, and 0 -> 2, of lengths that each rank says."""
    sources, destinations = [[2], [0], [1, 0]], [[1, 2], [2], [0]]
    maker = "DistGraphCreateAdjacent"
    shape = [recorded.topology(GRID, maker, *lists) for lists in zip(sources, destinations, strict=True)]
    _, found = neighbours(tmp_path, "NeighborAlltoallv", shape, maker, GRID, counts=[[8, 65472], [8], [8]])
    assert found["messages"] == 4
    assert found["rendezvous"] == 1
    # Without a topology, or with one that is none of this communicator, it is computation.
    for bad in ([], recorded.topology(GRID, "CartCreate", [2, 2], [0, 0])):
        _, found = neighbours(tmp_path, "NeighborAllgather", [bad] * 3, "CartCreate", GRID)
        assert found["messages"] == 0
        assert found["not_modelled"] == {"Opaque": 3, "NeighborAllgather": 3}

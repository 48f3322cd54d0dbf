# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace of a program of this layer: what is recorded, what is said of it, what it is predicted to take."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import BUILD, predict


def omni(*arguments: str | Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = commands.omni("model", *arguments)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def traced(out: Path, ranks: int, program: str, *arguments: str) -> Path:
    done = omni("trace", "-o", out, "--", BUILD / "bin/omplrun", "-n", str(ranks), BUILD / "bin" / program, *arguments)
    assert "OmniPGAS" in done.stderr
    assert "warning" not in done.stderr
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("trace") / "out", 2, "tests/trace_own")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("trace") / "out", 2, "tests/trace_own_ext")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("trace") / "out", 2, "tests/trace_own_calls")


def lines(folder: Path) -> list[dict[str, Any]]:
    done = commands.run(BUILD / "bin/ompl_trace_dump", folder, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_call_is_recorded_with_what_it_was_given(folder: Path) -> None:
    found = [
        [line for line in lines(folder) if "call" in line and line["rank"] == rank and line["call"] != "Tracer"]
        for rank in range(2)
    ]
    names = [[call["call"] for call in calls if call["call"] != "OmplPoll"] for calls in found]
    begin, end = ["Init", "OmplAlloc", "OmplAlloc"], ["OmplFlush", "OmplBarrier", "OmplFree", "Finalize"]
    first = ["OmplPut", "OmplPutWord", "OmplPut", "OmplQuiet", "OmplPutSignal", "OmplWait"]
    assert names[0] == [*begin, *first, *end]
    assert names[1] == [*begin, "OmplWait", "OmplWait", "OmplGet", "OmplPutWord", "OmplWait", *end]
    given = {(call["call"], call["peer"], call["bytes"]) for call in found[0] if call["peer"] >= 0}
    assert given == {("OmplPut", 1, 1000), ("OmplPutWord", 1, 0), ("OmplPut", 1, 100), ("OmplPutSignal", 1, 10)}
    assert ("OmplGet", 0, 200) in {(call["call"], call["peer"], call["bytes"]) for call in found[1]}
    assert any(call["call"] == "OmplPoll" for call in found[1])


def test_show_prints_them(folder: Path) -> None:
    said = omni("show", folder).stdout
    for name in ("OmplPut ", "OmplPutSignal", "OmplWait", "OmplBarrier"):
        assert name in said


def test_it_is_predicted_with_its_messages(folder: Path) -> None:
    found = predict(folder)
    # Of two: four barriers, the put with its signal, a put and its reply, a signal with data, a get, a signal.
    assert found["messages"] == 4 * 2 + 1 + 2 + 1 + 2 + 1
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {"OmplWait": 1}  # the one that timed out


def calls_of(folder: Path, rank: int) -> list[dict[str, Any]]:
    """In their order, but for what tells of no operation."""
    apart = ("Tracer", "Init", "Finalize", "OmplAlloc", "OmplProgress")
    return [line for line in lines(folder) if line.get("rank") == rank and line.get("call", "Tracer") not in apart]


def test_what_is_compiled_into_the_caller_is_recorded(extended: Path) -> None:
    """The second put, too, which an untraced program would do without a call; and the wait for what is complete."""
    calls = calls_of(extended, 0)
    assert [call["call"] for call in calls] == [
        "OmplPut", "OmplPut", "OmplPutNb", "OmplGetNb", "OmplHandleWaitAll", "OmplPutStrided", "OmplGetIndexed",
        "OmplPutNb", "OmplGetNb", "OmplHandleWaitAll", "OmplAtomic", "OmplAtomic", "OmplSignal",
        "OmplSignalNb", "OmplWaitUntil",
    ]  # fmt: skip
    assert [call["bytes"] for call in calls] == [100, 100, 200, 300, 2, 24, 40, 24, 40, 2, 4, 4, 0, 0, 0]
    assert calls[4]["ids"] == [calls[2]["request"], calls[3]["request"]]
    assert 0 not in calls[4]["ids"]
    words = [(word["function"], word["value"], word["width"]) for call in calls for word in call.get("words", [])]
    assert words == [(2, 5, 32), (2, 1, 32), (2, 2, 32), (1, 7, 64), (0, 0, 32)]


def test_calls_of_a_callback_are_recorded(extended: Path) -> None:
    names = [call["call"] for call in calls_of(extended, 1)]
    assert names == ["OmplWaitAny", "OmplWait", "OmplWaitUntil", "OmplFlagThen", "OmplPutWord"]


def test_each_wait_takes_the_signals_that_it_needed(extended: Path) -> None:
    found = predict(extended)
    # Of two: two allocations; two puts, a nonblocking one and two strided ones, with their replies; three gets; an
    # atomic with its result; a signal of two, which two waits take, one that sets, the atomic waited for, the answer.
    assert found["messages"] == 2 * 2 + 5 * 2 + 3 * 2 + 2 + 4
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {}


def test_calls_functions_and_replies_are_recorded(remote: Path) -> None:
    """A function's own calls stand between its begin and its end; a call with a reply is its posting and a wait."""
    caller, target = (calls_of(remote, rank) for rank in range(2))
    together = ["OmplBarrier", "OmplTeamAlloc", "OmplTeamFree"]  # the team of all comes first
    register = ["OmplBarrier"] * 3
    assert [call["call"] for call in caller] == [
        *register, "OmplWait", "OmplCallNb", "OmplHandleWait", "OmplCall", "OmplFunction", "OmplReply", "OmplCallNb",
        "OmplHandleWait", "OmplPutWord", *together,
    ]  # fmt: skip
    assert [call["call"] for call in target] == [
        *register, "OmplPutWord", "OmplFunction", "OmplReply", "OmplFunction", "OmplCall", "OmplReply", "OmplFunction",
        "OmplReply", "OmplWait", "OmplLocalAlloc", "OmplLocalFree", *together,
    ]  # fmt: skip
    names = ("OmplCallNb", "OmplHandleWait")
    posted, waits = ([call["request"] for call in caller if call["call"] == name] for name in names)
    assert posted == waits
    assert 0 not in posted
    given = [(call["peer"], call["tag"], call["bytes"]) for call in caller if call["call"].startswith("OmplCall")]
    assert given == [(1, 0, 8), (1, 1, 8), (1, 0, 8)]
    ran = [(call["peer"], call["tag"], call["bytes"]) for call in target if call["call"] == "OmplFunction"]
    assert ran == [(0, 0, 8), (0, 1, 8), (0, 0, 8)]
    moments = [(call["begin"], call["end"]) for call in target]
    assert moments == sorted(moments)


def test_calls_and_their_replies_are_messages(remote: Path) -> None:
    found = predict(remote)
    # Both ranks meet in an allocation, three registrations and the team of all; then come two calls with replies, one
    # without, the call back, two signals.
    assert found["messages"] == 5 * 2 + 2 * 2 + 1 + 1 + 2
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {"OmplTeamAlloc": 2, "OmplTeamFree": 2, "OmplLocalAlloc": 1, "OmplLocalFree": 1}


def test_tasks_are_lanes_and_computation(tmp_path: Path) -> None:
    """The factorization in tiles: a thread's tasks follow each other, and are replayed once their signals came."""
    if not (BUILD / "bin/tasklet_cholesky").is_file():
        pytest.skip("tasklet_cholesky is not built")
    tiles = 6
    out = traced(tmp_path / "out", 2, "tasklet_cholesky", str(tiles), "16", "2")
    calls = [line for line in lines(out) if "call" in line]
    tasks = [call for call in calls if call["call"].startswith("OmplTask")]
    for where in {(call["rank"], call["thread"]) for call in tasks}:
        mine = [(one["call"], one["bytes"], one["name"]) for one in tasks if (one["rank"], one["thread"]) == where]
        assert [kind for kind, *_ in mine] == ["OmplTaskBegin", "OmplTaskEnd"] * (len(mine) // 2)
        assert [task for _, *task in mine[::2]] == [task for _, *task in mine[1::2]]
    ran = Counter(call["name"] for call in tasks if call["call"] == "OmplTaskEnd" and call["tag"] == 0)
    below = tiles * (tiles - 1) // 2
    assert (ran["factorize"], ran["solve"], ran["update"]) == (tiles, below, below * (tiles + 1) // 3)
    assert ran["send"] == ran["arrival"] > 0
    begun = [call for call in tasks if call["call"] == "OmplTaskBegin"]
    watched = {(call["rank"], call["request"]) for call in calls if call["call"] == "OmplFlagThen"}
    waits = {(call["rank"], wait) for call in begun for wait in call.get("ids", [])}
    assert waits
    assert waits <= watched
    found = predict(out)
    assert found["unmatched_count"] == 0
    assert {f"task {name}" for name in ran} <= {row["where"] for row in found["per_site"] if row["compute"] > 0} | {
        "task the first task", "task arrival",
    }  # fmt: skip
    omni("export", str(out), "--chrome", tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    drawn = Counter(event["name"] for event in events if event.get("cat") == "task" and not event["args"]["suspended"])
    assert drawn == ran
    omni("report", str(out), "--params", "myrinet", "--no-whatif", "-o", tmp_path / "report.html")
    assert "task update" in (tmp_path / "report.html").read_text()


def test_a_halo_exchange_is_messages_between_neighbours(tmp_path: Path) -> None:
    """The rod of examples/heat_halo.c: an end has one neighbour, and 8 bytes go each way in each step."""
    ranks, steps = 3, 50
    out = traced(tmp_path / "out", ranks, "heat_halo", str(steps))
    for rank in range(ranks):
        calls = calls_of(out, rank)
        assert [call["call"] for call in calls] == [
            "OmplHaloCreate", *["OmplHaloStart", "OmplHaloWait"] * steps, "OmplHaloDestroy",
        ]  # fmt: skip
        neighbours = [other for other in (rank - 1, rank + 1) if 0 <= other < ranks]
        assert calls[0]["ids"] == neighbours
        assert calls[0]["sent"] == calls[0]["received"] == [8] * len(neighbours)
        assert {call["request"] for call in calls} == {1}
    found = predict(out)
    barriers = 2 * ranks * 2  # making and ending it; by dissemination, two rounds of three
    assert found["messages"] == 2 * (ranks - 1) * steps + barriers
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {}
    said = omni("show", out).stdout
    assert "OmplHaloStart" in said
    omni("export", str(out), "--chrome", tmp_path / "x.json", "--goal", tmp_path / "x.goal")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert sum(event["name"] == "OmplHaloWait" for event in events) == ranks * steps
    assert (tmp_path / "x.goal").read_text().count(" send 8b ") == 2 * (ranks - 1) * steps

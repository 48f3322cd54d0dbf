# SPDX-License-Identifier: BSD-3-Clause
"""omni model export: GOAL schedules that replay as the trace does, JSON as Chrome and Perfetto read it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import MODEL, omni, predict, run

from .recorded import WORLD, record
from .recording_test import count_hands, ending, ending_threads, trace_of, two_ranks, whole_nanoseconds


def export(*arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    return omni("model", "export", *arguments, check=check)


def goal_of(trace: Path, out: Path) -> str:
    """What is said about it."""
    done = run(MODEL, "goal", trace, out, check=True)
    return done.stderr


def eager(programs: list[list[Any]]) -> list[list[Any]]:
    """Without synchronous sends."""
    return [[[*op[:5], False] if op[0] in ("send", "isend") else op for op in program] for program in programs]


def is_the_same(folder: Path) -> None:
    """The replay of the schedule of a trace is that of the trace."""
    schedule = folder.with_suffix(".goal")
    assert goal_of(folder, schedule) == ""
    of_trace, of_goal = predict(folder), predict(schedule)
    for name in ("per_rank", "per_thread", "messages", "rendezvous", "predicted_seconds"):
        assert of_goal.get(name) == of_trace.get(name), (folder.name, name)


def test_goal_schedules_take_the_time_of_their_traces(tmp_path: Path) -> None:
    compared = 0
    for seed, programs, world in ending(range(40), change=lambda programs: eager(whole_nanoseconds(programs))):
        is_the_same(trace_of(tmp_path / str(seed), programs, world))
        compared += 1
    assert compared > 20


def test_threads_are_cpus(tmp_path: Path) -> None:
    compared = handed = 0
    for folder, first, further in ending_threads(tmp_path, range(30), eager):
        is_the_same(folder)
        compared += len(further) > 0
        handed += count_hands(first, further)
    assert compared > 10
    assert handed > 10


def test_what_goal_cannot_say_is_counted(tmp_path: Path) -> None:
    two_ranks(tmp_path, [record("ssend", 2000, 3000, 8, 1, 5, WORLD)], [record("recv", 2000, 3000, 8, 0, 5, WORLD)])
    assert "1 synchronous sends became ordinary ones" in goal_of(tmp_path, tmp_path / "x.goal")


def test_collectives_are_their_messages(tmp_path: Path) -> None:
    two_ranks(tmp_path, *([record("Allreduce", 2000, 3000, 64, -3, 0, WORLD)] for _ in range(2)))
    export(tmp_path, "--goal", tmp_path / "x.goal", check=True)
    assert predict(tmp_path / "x.goal")["messages"] == predict(tmp_path)["messages"] > 0


def test_chrome_json_has_each_call(tmp_path: Path) -> None:
    two_ranks(tmp_path, [record("send", 2000, 3500, 800, 1, 5, WORLD)], [record("recv", 2000, 4000, 800, 0, 5, WORLD)])
    export(tmp_path, "--chrome", tmp_path / "x.json", check=True)
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {0: "rank 0 (host)", 1: "rank 1 (host)"}
    calls = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in calls if event["pid"] == 0] == ["MPI_Init", "MPI_Send", "MPI_Finalize"]
    assert [event["name"] for event in calls if event["pid"] == 1] == ["MPI_Init", "MPI_Recv", "MPI_Finalize"]
    send = calls[1]
    assert (send["pid"], send["ts"], send["dur"]) == (0, pytest.approx(2.0), pytest.approx(1.5))
    assert (send["args"]["peer"], send["args"]["tag"], send["args"]["bytes"]) == (1, 5, 800)


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    for arguments, words in (
        ((tmp_path,), "nothing to write"),
        ((tmp_path, "--chrome", tmp_path / "x.json"), "no file rank."),
        ((tmp_path, "--goal", tmp_path / "x.goal"), "no file rank."),
        (("ring:4:1:1", "--goal", tmp_path / "none/x.goal"), "cannot write"),
    ):
        done = export(*arguments)
        assert done.returncode != 0
        assert words in done.stderr

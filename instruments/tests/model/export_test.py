# SPDX-License-Identifier: BSD-3-Clause
"""omni model export: GOAL schedules that replay as the trace does, JSON as Chrome and Perfetto read it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import common, recorded, reference
from .recorded import WORLD, record
from .recording_test import predict, threads_as_recorded, two_ranks, whole_nanoseconds


def export(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnipgas_tools.cli", "model", "export", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def goal_of(trace: Path, out: Path) -> str:
    """What is said about it."""
    command = [str(common.MODEL), "goal", str(trace), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def without_synchronous(program: list[list[Any]]) -> list[list[Any]]:
    return [[*op[:5], False] if op[0] in ("send", "isend") else op for op in program]


def test_goal_schedules_take_the_time_of_their_traces(tmp_path: Path) -> None:
    compared = 0
    for seed in range(40):
        maker = common.ProgramMaker(random.Random(seed), any_source=False)
        programs = [without_synchronous(program) for program in whole_nanoseconds(maker.programs)]
        try:
            reference.World(programs, "loggps", common.machine("Myrinet"))
        except reference.Deadlock:
            continue
        folder, schedule = tmp_path / str(seed), tmp_path / f"{seed}.goal"
        folder.mkdir()
        recorded.write(folder, [recorded.Recorder(program, maker.ranks, {}).calls for program in programs])
        assert goal_of(folder, schedule) == ""
        of_trace, of_goal = predict(folder), predict(schedule)
        for name in ("per_rank", "messages", "rendezvous", "predicted_seconds"):
            assert of_goal[name] == of_trace[name], (seed, name)
        compared += 1
    assert compared > 20


def test_threads_are_cpus(tmp_path: Path) -> None:
    compared = handed = 0
    for seed in range(30):
        maker = common.ThreadsMaker(random.Random(seed), any_source=False)
        programs = [without_synchronous(program) for program in threads_as_recorded(maker)]
        count = len(maker.first)
        further = [(rank, one) for rank, one in list(zip(maker.owners, programs, strict=True))[count:] if one]
        try:
            reference.World(programs[:count], "loggps", common.machine("Myrinet"), threads=further)
        except reference.Deadlock:
            continue
        folder, schedule = tmp_path / str(seed), tmp_path / f"{seed}.goal"
        folder.mkdir()
        recorded.write_threads(folder, programs[:count], further)
        assert goal_of(folder, schedule) == ""
        of_trace, of_goal = predict(folder), predict(schedule)
        for name in ("per_rank", "per_thread", "messages", "rendezvous", "predicted_seconds"):
            assert of_goal.get(name) == of_trace.get(name), (seed, name)
        compared += len(further) > 0
        handed += sum(op[0] == "hand" for program in programs for op in program)
    assert compared > 10
    assert handed > 10


def test_what_goal_cannot_say_is_counted(tmp_path: Path) -> None:
    two_ranks(tmp_path, [record("ssend", 2000, 3000, 8, 1, 5, WORLD)], [record("recv", 2000, 3000, 8, 0, 5, WORLD)])
    assert "1 synchronous sends became ordinary ones" in goal_of(tmp_path, tmp_path / "x.goal")


def test_collectives_are_their_messages(tmp_path: Path) -> None:
    two_ranks(tmp_path, *([record("Allreduce", 2000, 3000, 64, -3, 0, WORLD)] for _ in range(2)))
    done = export(tmp_path, "--goal", tmp_path / "x.goal")
    assert done.returncode == 0, done.stderr
    assert predict(tmp_path / "x.goal")["messages"] == predict(tmp_path)["messages"] > 0


def test_chrome_json_has_each_call(tmp_path: Path) -> None:
    two_ranks(tmp_path, [record("send", 2000, 3500, 800, 1, 5, WORLD)], [record("recv", 2000, 4000, 800, 0, 5, WORLD)])
    done = export(tmp_path, "--chrome", tmp_path / "x.json")
    assert done.returncode == 0, done.stderr
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

# SPDX-License-Identifier: BSD-3-Clause
"""omni model whatif as a user types it."""

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools.commands import model
from omnipgas_tools.model import whatif

# Rank 0 sends 20000 bytes three times and 40000 once; rank 1 is busy first.
PROGRAM = """num_ranks 2
rank 0 {{
a: send 20000b to 1 tag 0
b: send 20000b to 1 tag 0
b requires a
c: send 20000b to 1 tag 0
c requires b
d: send 40000b to 1 tag 0
d requires c
}}
rank 1 {{
w: calc {work}
a: recv 20000b from 0 tag 0
a requires w
b: recv 20000b from 0 tag 0
b requires a
c: recv 20000b from 0 tag 0
c requires b
d: recv 40000b from 0 tag 0
d requires c
}}
"""


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def omni(*arguments: str | Path, command: str = "whatif") -> Done:
    """The command, in this process: starting Python forty times would take most of a minute."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = model.app([command, *map(str, arguments), "--params", "myrinet"], standalone_mode=False)
    return Done(code or 0, out.getvalue(), err.getvalue())


def answer(*arguments: str | Path) -> dict[str, Any]:
    done = omni(*arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.goal"
    path.write_text(PROGRAM.format(work=10**9))
    return path


def test_the_ranked_table_is_in_order_and_agrees_with_predict(program: Path) -> None:
    found = answer(program)
    saves = [row["saves_seconds"] for row in found["changes"]]
    assert saves == sorted(saves, reverse=True)
    names = [row["name"] for row in found["changes"]]
    assert {"o x 0.5", "o x 2", "compute x 0.5", "S = 20000", "S = 40000", "messages cut to S"} < set(names)
    assert names[0] == "compute x 0.5"
    done = omni(program, "--json", "-", "--no-sensitivity", command="predict")
    assert found["base"]["time_seconds"] == json.loads(done.stdout)["predicted_seconds"]
    half = json.loads(omni(program, "--json", "-", "--compute-scale=0.5", command="predict").stdout)
    assert found["changes"][0]["time_seconds"] == half["predicted_seconds"]


def test_options_make_one_change(program: Path) -> None:
    options = ["--set", "S=64K", "--set", "L=2us", "--set", "o=0.5x", "--compute-factor", "0.25", "--fragment"]
    [row] = answer(program, *options)["changes"]
    assert row["change"] == {"set": {"S": 65536, "L": 2000}, "scale": {"o": 0.5, "compute": 0.25}, "fragment": True}
    assert row["name"] == "S = 65536, L = 2000, o x 0.5, compute x 0.25, messages cut to S"
    [row] = answer(program, "--machine", "fast-ethernet")["changes"]
    assert row["saves_seconds"] < 0


def test_a_sweep_of_S_stops_where_a_length_is(program: Path) -> None:
    rows = answer(program, "--sweep", "S=1K:1M")["changes"]
    assert [row["change"]["set"]["S"] for row in rows] == [1024, 20000, 40000]
    assert [row["rendezvous"] for row in rows] == [4, 1, 0]
    rows = answer(program, "--sweep", "S=30000:35000")["changes"]
    assert [row["change"]["set"]["S"] for row in rows] == [30000]
    rows = answer(program, "--sweep", "L=1us:4us", "--set", "S=1M")["changes"]
    assert [row["change"]["set"]["L"] for row in (rows[0], rows[-1])] == [1000, pytest.approx(4000)]
    assert all(row["rendezvous"] == 0 for row in rows)
    assert [row["time_seconds"] for row in rows] == sorted(row["time_seconds"] for row in rows)


def test_what_cutting_costs_is_said_before(program: Path) -> None:
    found = answer(program)["fragmenting"]
    assert found["per_rank_mean"]["bytes"] == 50000
    assert found["per_rank_mean"]["pieces"] == 3.5  # 100000 / 16383, rounded up, at one rank of two
    assert found["per_rank_mean"]["seconds"] == pytest.approx(3.5 * 298.466e-6, rel=1e-4)
    assert found["send_wait"] == pytest.approx(0.5, rel=0.01)
    assert found["promising"]
    text = omni(program).stdout
    assert "S = 16383" in text and "1.045 ms, against 500" in text and "promising" in text


def test_no_gain_is_said_too(tmp_path: Path) -> None:
    path = tmp_path / "program.goal"
    path.write_text(PROGRAM.format(work=0))
    assert not answer(path)["fragmenting"]["promising"]
    assert "fragmenting" not in answer("ring:4:10:1000")


def test_a_change_that_deadlocks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "both.goal"
    rank = "rank {} {{\na: send 9b to {} tag 0\nb: recv 9b from {} tag 0\nb requires a\n}}\n"
    path.write_text("num_ranks 2\n" + rank.format(0, 1, 1) + rank.format(1, 0, 0))
    rows = answer(path, "--set", "S=8")["changes"]
    assert "2 of 2 ranks stand still" in rows[0]["error"] and "saves_seconds" not in rows[0]
    assert "stand still" in omni(path, "--set", "S=8").stdout


def test_how_many_replays_run_at_a_time_changes_no_byte(program: Path) -> None:
    ranked = [omni(program, "--json", "-", "--jobs", jobs).stdout for jobs in "14"]
    assert ranked[0] == ranked[1] and len(json.loads(ranked[0])["changes"]) > 10
    swept = [omni(program, "--sweep", "L=1us:1ms", "--json", "-", "--jobs", jobs).stdout for jobs in "14"]
    assert swept[0] == swept[1] and len(json.loads(swept[0])["changes"]) == 17
    predicted = [json.loads(omni(program, "--json", "-", "--jobs", jobs, command="predict").stdout) for jobs in "14"]
    for one in predicted:
        del one["read_seconds"], one["replay_seconds"]  # measured
    assert predicted[0] == predicted[1] and "S_step" in predicted[0]["sensitivity"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--set", "S"], "NAME=VALUE"),
        (["--set", "S=64Q"], "K, M, G"),
        (["--set", "L=1h"], "us"),
        (["--set", "Q=1"], "Q"),
        (["--set", "S=0.5"], "whole number"),
        (["--set", "o=-1x"], "-1"),
        (["--sweep", "S=1K"], "FROM:TO"),
        (["--sweep", "S=2K:1K"], "more than"),
        (["--sweep", "L=0:1"], "above 0"),
        (["--collective", "allreduce=spiral"], "recursive-doubling, ring, tree"),
        (["--machine", "no-such"], "no-such"),
        (["--set", "S=0", "--fragment"], "0 bytes"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(program: Path, options: list[str], says: str) -> None:
    done = omni(program, *options)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and says in done.stderr and done.stderr.count("\n") == 1


def test_long_sweeps_keep_their_ends() -> None:
    values = [float(i) for i in range(1000)]
    chosen = whatif.evenly(values)
    assert len(chosen) == whatif.POINTS and chosen[0] == 0 and chosen[-1] == 999
    assert chosen == sorted(set(chosen))


def test_limits_are_tried_where_something_changes() -> None:
    survey = {"lengths": [[8, 1], [100, 2], [200, 1], [300, 5]], "parameters": {"S": 150}}
    assert whatif.other_limits(survey) == [8, 200, 300]
    assert whatif.other_limits({"lengths": [[8, 1]], "parameters": {"S": 150}}) == [0]
    assert whatif.other_limits({"lengths": [], "parameters": {"S": 150}}) == []

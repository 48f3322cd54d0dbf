# SPDX-License-Identifier: BSD-3-Clause
"""omni model validate under each MPI, and what-if of a real trace: the structure of the answers, not their times."""

import json
import subprocess
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import BUILD, LIMIT
from omnipgas_tools.model import examples, timer, validate
from omnipgas_tools.model.program import PredictionError

from . import common

MYRINET = ["--params", "myrinet"]


def omni(env: dict[str, str], *arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    return commands.omni("model", *arguments, env=env, timeout=2 * LIMIT, check=check)


def job(mpi: str, name: str, *arguments: str, ranks: int = 2) -> tuple[list[str], dict[str, str]]:
    launch = common.launch(mpi, ranks)
    return launch.line(ranks, examples.program(BUILD, mpi, name), arguments), launch.environment()


@pytest.mark.parametrize("mpi", common.MPIS)
def test_predicted_stands_beside_measured(mpi: str, tmp_path: Path) -> None:
    command, env = job(mpi, "halo", "64", "20")
    kept = tmp_path / "trace"
    done = omni(env, "validate", *MYRINET, "--runs", "3", "--json", "-", "-o", kept, "--", *command, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    measured = found["measured"]
    assert found["part"] == "between MPI_Pcontrol(1) and (0)"
    assert len(measured["runs"]) == 3 and min(measured["runs"]) > 0
    assert measured["low"] <= measured["median"] <= measured["high"]
    assert found["predicted_seconds"] == found["prediction"]["region_seconds"]
    assert 0 < found["predicted_seconds"] < found["prediction"]["predicted_seconds"]
    error = 100 * (found["predicted_seconds"] / measured["median"] - 1)
    assert found["error_percent"] == pytest.approx(error)
    assert found["ranks"] == 2 and found["model"] == "loggps" and found["machine"] == "myrinet"
    assert len(list(kept.glob("rank.*.omplt"))) == 2
    assert "predicted  " in done.stderr and "3 runs" in done.stderr


def test_what_if_of_a_trace_knows_its_collectives(tmp_path: Path) -> None:
    command, env = job("mpich", "transpose", "32", "5", "alltoall", ranks=4)
    done = omni(env, "trace", "-o", tmp_path / "trace", "--", *command, check=True)
    done = omni(env, "whatif", tmp_path / "trace", *MYRINET, "--json", "-", check=True)
    found = json.loads(done.stdout)
    assert found["survey"]["collectives"] == {"alltoall": 4 * 5, "allreduce": 4 * 2, "barrier": 4}
    rows = {row["name"]: row for row in found["changes"]}
    assert found["base"]["time_seconds"] == found["base"]["region_seconds"]
    # Of 8 x 8 doubles: three messages of one block each; or two of two, with four ranks.
    sent = found["base"]["messages"] - rows["alltoall by bruck"]["messages"]
    assert sent == 4 * 5
    assert {"allreduce by ring", "allreduce by tree", "barrier by tree"} < set(rows)


def test_the_timer_times_the_whole_and_the_marked_part() -> None:
    command, env = job("mpich", "pipeline", "5", "100", "2")
    times = timer.run(command, LIMIT, env)
    assert times.region is not None and 0 < times.region < times.seconds
    assert times.asked == times.region


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("gauss x", "must be a whole number"),
        ("/bin/true", "MPI_Init"),
        ("gauss 3000", "did not end in 0.2 s"),
    ],
)
def test_a_run_that_fails_is_named(command: str, says: str) -> None:
    name, *arguments = command.split()
    # MPICH's mpiexec loses what an aborted program has said in 2 of 100 runs on busy cores.
    line, env = job("openmpi", "gauss", *arguments)
    if name != "gauss":
        line = [*line[:-1], name]
    limit = 0.2 if "0.2 s" in says else LIMIT
    with pytest.raises(timer.TimerError, match=says.replace("(", r"\(")):
        timer.run(line, limit, env)


def test_failures_come_out_as_one_error() -> None:
    command, env = job("mpich", "gauss", "x")
    done = omni(env, "validate", *MYRINET, "--runs", "1", "--", *command)
    assert done.returncode == 1 and done.stderr.startswith("error: the program ended with status")
    done = omni(env, "validate", *MYRINET, "--", "no-such-launcher")
    assert done.returncode == 1 and "no-such-launcher" in done.stderr


def test_quartiles_and_errors() -> None:
    found = validate.compare([4.0, 1.0, 3.0, 2.0, 5.0], 3.3)
    assert (found.low, found.median, found.high) == (2.0, 3.0, 4.0)
    assert found.error == pytest.approx(10) and found.within_runs
    assert validate.compare([2.0], 1.0).error == -50 and not validate.compare([2.0], 1.0).within_runs


def test_runs_that_disagree_about_the_marked_part_are_refused() -> None:
    prediction = {"predicted_seconds": 1.0, "machine": "m", "model": "loggps", "ranks": 2}
    whole, marked = timer.Times(2.0, None), timer.Times(2.0, 1.0)
    assert validate.to_json([], [whole], prediction)["part"] == "from MPI_Init to MPI_Finalize"
    for times in ([whole, marked], [marked]):
        with pytest.raises(PredictionError):
            validate.to_json([], times, prediction)

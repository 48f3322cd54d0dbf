# SPDX-License-Identifier: BSD-3-Clause
"""omni model predict as a user types it."""

import itertools
import json
import os
import subprocess
from pathlib import Path

import commands
import pytest

from . import common

PARTS = {"compute", "overhead", "send_wait", "recv_wait"}


def omni(*arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    return commands.omni("model", "predict", *arguments, check=check)


def test_the_result_has_what_the_interface_promises(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = omni("ring:4:10:20000", "--params", "myrinet", "--model", "loggps", "--json", out, check=True)
    result = json.loads(out.read_text())
    for name in ("predicted_seconds", "read_seconds", "replay_seconds"):
        assert result[name] > 0
    assert result["messages"] == 80
    assert len(result["per_rank"]) == 4
    assert all(set(row) == PARTS for row in result["per_rank"])
    assert max(sum(row.values()) for row in result["per_rank"]) == pytest.approx(result["predicted_seconds"], rel=1e-9)
    sites = {part: sum(row[part] for row in result["per_site"]) for part in PARTS}
    assert sites == pytest.approx({part: sum(row[part] for row in result["per_rank"]) for part in PARTS})
    slopes, values = result["sensitivity"], result["parameters"]
    made = sum(slopes[name] * values[name] for name in ("L", "o", "Gs", "Gl", "Osl", "Orl"))
    assert made == pytest.approx(result["predicted_seconds"], rel=1e-9)
    path = result["sensitivity"]["critical_path"]["last"]
    assert path[0]["from"] == 0
    assert path[-1]["to"] == pytest.approx(result["predicted_seconds"])
    assert all(a["to"] == b["from"] for a, b in itertools.pairwise(path))
    for word in ("send wait", "recv wait", "part of the time", "ring, call 7"):
        assert word in done.stdout


def test_several_threads_predict_the_same() -> None:
    def predict(*options: str) -> dict[str, object]:
        done = omni("ring:600:3:20000", "--params", "myrinet", "--json", "-", *options, check=True)
        result: dict[str, object] = json.loads(done.stdout)
        for name in ("read_seconds", "replay_seconds"):
            del result[name]
        return result

    one, three, by_itself = predict("--threads=1"), predict("--threads=3"), predict()
    assert (one.pop("threads"), three.pop("threads")) == (1, 3)
    assert by_itself.pop("threads") == min(2, len(os.sched_getaffinity(0)))
    assert one == three == by_itself


def test_the_step_of_s_is_that_of_a_prediction_with_it(tmp_path: Path) -> None:
    def time(parameters: str | Path) -> dict[str, object]:
        done = omni("ring:4:10:20000", "--params", parameters, "--json", "-", check=True)
        result: dict[str, object] = json.loads(done.stdout)
        return result

    before = time("myrinet")
    step = before["sensitivity"]["S_step"]  # type: ignore[index]
    assert step["S"] == 20000
    longer = tmp_path / "longer.json"
    longer.write_text(json.dumps(common.parameter_file("loggps", common.machine("Myrinet") | {"S": 20000})))
    after = time(longer)
    assert after["predicted_seconds"] - before["predicted_seconds"] == pytest.approx(step["seconds"])  # type: ignore[operator]
    assert "S_step" not in after["sensitivity"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no such file", "--params", "myrinet"), "cannot be read"),
        (("ring:1:1:1", "--params", "myrinet"), "the ranks must be 2 to"),
        (("ring:2:1:1", "--params", "nowhere"), "no such file, and no machine of that name"),
        (("ring:2:1:1", "--params", "myrinet", "--model", "logp"), "no model logp"),
        (("ring:2:1:1", "--params", "cenju4", "--model", "loggp-2"), "gives no loggp-2 parameters"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: tuple[str, ...], said: str) -> None:
    done = omni(*arguments)
    assert said in commands.refusal(done)
    assert done.stderr.startswith("error: ")


def test_messages_without_partner_are_warned_of_and_deadlocks_refused(tmp_path: Path) -> None:
    schedule = tmp_path / "x.goal"
    schedule.write_text("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\nrank 1 {\n}\n")
    done = omni(schedule, "--params", "myrinet", check=True)
    assert "warning: rank 0, line 3: a send to 1, tag 3, has no partner" in done.stdout
    schedule.write_text("num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 3\n}\nrank 1 {\n}\n")
    done = omni(schedule, "--params", "myrinet")
    assert done.returncode == 1
    assert "1 of 2 ranks stand still for ever" in done.stderr
    assert "rank 0, line 3: receives from rank 1, tag 3, but nobody sends" in done.stderr


def test_loggops_is_no_name_of_this_model_but_still_taken(tmp_path: Path) -> None:
    """The parameters are LogGOPSim's, the replay is not, and a schedule is told so."""
    units = {"L": "ns", "o": "ns", "g": "ns", "G": "ns/byte", "O": "ns/byte", "S": "bytes"}
    params, schedule = tmp_path / "params.json", tmp_path / "x.goal"
    params.write_text(json.dumps({"models": {"loggops": {k: {"value": 1000, "unit": u} for k, u in units.items()}}}))
    schedule.write_text("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n")
    for name in ("loggops", "loggops-mpi"):
        found = commands.predict("ring:2:1:1", "--params", params, "--model", name)
        assert found["model"] == "loggops-mpi"
        done = omni(schedule, "--params", params, "--model", name, check=True)
        assert "LogGOPSim may give another time" in done.stdout

# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of collectives, their replay through the library's tuner, and the tuner's targets."""

import json
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools.commands import tune
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.measurement import Bench
from omnipgas_tools.targets.tuner import KINDS, beside_the_best, held, judged, recorded
from omnipgas_tools.tuner import runs as tuner_runs
from omnipgas_tools.tuner.runs import TUNED, Kind, Live, Replayed, RunError
from typer.testing import CliRunner, Result

KIND = Kind("allreduce", 8, 2)


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build tree that has the programs."""
    place = catalog.build_dir()
    if not all((place / "bin" / name).exists() for name in ("ompl_tuner_measure", "ompl_tuner_replay", "omplrun")):
        pytest.skip("the programs of bench/tuner are not built")
    return place


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tune.app, arguments)


def recording(calls: int = 1000, **microseconds: float) -> dict[str, Any]:
    """An undisturbed machine."""
    times = {"recursive_doubling": 1.0, "rabenseifner": 1.0, "ring": 1.0, "direct": 1.0} | microseconds
    named = {name.replace("_", "-"): [time] * calls for name, time in times.items()}
    return {"collective": "allreduce", "bytes": 8, "ranks": 2, "microseconds": named}


def test_the_tuner_decides_on_a_recording_as_the_library_would(build: Path) -> None:
    slower = {"recursive_doubling": 2.0, "rabenseifner": 3.0, "direct": 4.0}
    first, second = tuner_runs.replay(build, [recording(1000, **slower), recording(ring=5.0)])
    assert (first.kind, first.calls, first.takes) == (KIND, 1000, "ring")
    assert sorted(first.short_list) == ["direct", "rabenseifner", "recursive-doubling", "ring"]
    assert 1 <= first.steady_of_best < 1.05 and 0 < first.regret < 0.1
    assert second.takes != "ring"


def test_what_cannot_be_replayed_is_said(build: Path) -> None:
    lame = recording()
    del lame["microseconds"]["ring"]
    with pytest.raises(RunError, match="ring was not recorded"):
        tuner_runs.replay(build, [lame])
    with pytest.raises(RunError, match="takes no time"):
        tuner_runs.replay(build, [recording(ring=0.0)])
    with pytest.raises(RunError, match="no collective quadrille"):
        tuner_runs.replay(build, [recording() | {"collective": "quadrille"}])
    with pytest.raises(RunError, match="no collective scan"):
        tuner_runs.record(build, Kind("scan", 8, 2), 10)
    with pytest.raises(RunError, match="build it"):
        tuner_runs.record(Path("/nowhere"), KIND, 10)


def test_a_recording_is_made_kept_and_replayed(build: Path, tmp_path: Path) -> None:
    kept, result = tmp_path / "recording.json", tmp_path / "result.json"
    done = run("record", "-o", str(kept), "--collectives", "allgather,broadcast", "--sizes", "8", "--calls", "30")
    assert done.exit_code == 0, done.output
    content = json.loads(kept.read_text())
    assert content["schema"] == tune.RECORDING_SCHEMA
    assert [one["collective"] for one in content["recordings"]] == ["allgather", "broadcast"]
    for one in content["recordings"]:
        assert len(one["microseconds"]) >= 3
        assert all(len(times) == 30 and min(times) > 0 for times in one["microseconds"].values())
    done = run("replay", str(kept), "--json", str(result))
    assert done.exit_code == 0, done.output
    assert "allgather of 8 B, 2 ranks" in done.output and "regret" in done.output
    assert [row["calls"] for row in json.loads(result.read_text())["replayed"]] == [30, 30]


def test_what_is_no_recording_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.json"
    for text, complaint in (
        ("", "no recording"),
        ("{}", "schema"),
        ('{"schema": "another"}', "schema"),
        ("[]", "no rec"),
    ):
        path.write_text(text)
        done = run("replay", str(path))
        assert done.exit_code == 1
        assert complaint in done.output + capfd.readouterr().err
    assert run("replay", str(tmp_path / "none.json")).exit_code == 1
    assert run("record", "-o", str(path), "--collectives", "quadrille").exit_code == 2


def test_the_targets_of_a_tiny_run(build: Path) -> None:
    bench = Bench(build, Progress())
    steady, regret = recorded(KIND, calls=40, recordings=3).answers(bench)
    assert steady.value is not None and steady.value > 0 and steady.bound == 1.05
    assert regret.value is not None and regret.value < 1 and regret.bound == 0.1
    (live,) = beside_the_best(KIND, block=20, rounds=30).answers(bench)
    assert live.value is not None and live.low == live.value and live.high is not None and live.high >= live.low
    assert [row["bench"] for row in bench.rows] == ["tuner-replayed"] * 3 + ["tuner-live"]
    json.dumps(bench.rows)


def test_targets_are_met_or_missed() -> None:
    replays = [
        Replayed(KIND, 1000, ["ring", "direct"], "ring", *found) for found in ((1.04, 0.11), (1.2, 0.12), (1, 0))
    ]
    good, dear = judged(replays)
    assert good.met and good.value == 1.04 and good.high == 1.2
    assert not dear.met and dear.value == 0.11
    rounds = {"ring": [2.0] * 30, "direct": [1.0] * 30}
    assert held(Live(KIND, rounds | {TUNED: [1.02] * 30})).met
    slow = held(Live(KIND, rounds | {TUNED: [1.2] * 30}))
    assert not slow.met and "the best is direct" in slow.note
    # Its median is above the bound, but the bound lies in the interval.
    doubtful = held(Live(KIND, rounds | {TUNED: [1.0] * 14 + [1.1] * 16}))
    assert doubtful.met and doubtful.high is not None and doubtful.high > 1.05
    with pytest.raises(ValueError, match="30 needed"):
        held(Live(KIND, {name: times[:5] for name, times in rounds.items()} | {TUNED: [1.0] * 5}))


def test_nothing_built_is_no_target(build: Path, tmp_path: Path) -> None:
    assert "tuner" in targets.GROUPS
    bench = Bench(build, Progress())
    bench.build = tmp_path
    found = [*recorded(KIND).answers(bench), *beside_the_best(KIND).answers(bench)]
    assert [one.value for one in found] == [None] * 3
    assert len(KINDS) == 24

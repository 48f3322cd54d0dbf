# SPDX-License-Identifier: BSD-3-Clause
"""omni tune advise: which number of processes per node and which mode finishes the same work first, with ties."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import unframed
from omnipgas_tools.commands import tune
from omnipgas_tools.measure import results
from omnipgas_tools.overlap import advice as overlap_advice
from omnipgas_tools.overlap.advice import Way
from typer.testing import CliRunner, Result

TIMES = (
    "pure_us", "pure_p99_us", "init_us", "compute_us", "wait_us", "overall_us", "overall_p99_us", "overlap_percent",
    "alone_us", "compute_slowdown", "cores_charged",
)  # fmt: skip
FOUR_CORES = 400_000  # elements of a node in the paper


def row(p_node: int, mode: str, median: float, wide: float = 0.01, **changed: Any) -> dict[str, Any]:
    """Of omni overlap: an allgather to which a node gives 64 KiB, unless something else is said."""
    found = {"median": median, "low": median * (1 - wide), "high": median * (1 + wide), "rounds": 5}
    plain = results.empty("overlap", "ompl", "allgather", 1, 65536 // p_node)
    return plain | dict.fromkeys(TIMES, 1.0) | {
        "version": "1", "transport": "made", "t_calc": 1, "t_node": 2, "computation": "paper", "rounds": 5,
        "overall_of_none": None, "pure_of_none": None, "n_node": 2, "n_cpu": 4, "p_node": p_node,
        "elements": FOUR_CORES // p_node, "kernel": "memory",
        "skew_us": 0.0, "mode": mode, "algorithm": "default", "emulation": None, "overall_interval": found,
    } | changed  # fmt: skip


def document(path: Path, *rows: dict[str, Any], schema: str = results.SCHEMA) -> Path:
    made = results.document(results.machine(), {"interrupted": False, "libraries": {}}, list(rows))
    path.write_text(json.dumps(made | {"schema": schema}))
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tune.app, ["advise", *arguments])


def test_the_fastest_way_comes_first_with_those_tied() -> None:
    slow, near = row(1, "none", 300.0), row(2, "none", 201.0)
    (one,) = overlap_advice.advise([slow, row(1, "spare", 200.0), near, row(2, "shared", 250.0)])
    assert one.order == [Way(*way, "default") for way in ((1, "spare"), (2, "none"), (2, "shared"), (1, "none"))]
    assert one.first == one.order[:2], "201 lies in the interval of 200"
    assert one.behind(one.order[-1]) == 1.5


def test_only_the_same_work_is_compared() -> None:
    assert not overlap_advice.advise([row(1, "none", 1.0), row(1, "shared", 1.0)]), "one p_node"
    assert not overlap_advice.advise([row(1, "none", 1.0), row(2, "none", 1.0, size=65536)]), "twice the bytes"
    assert not overlap_advice.advise([row(1, "none", 1.0), row(2, "none", 1.0, elements=FOUR_CORES)]), "computes more"
    assert not overlap_advice.advise([row(1, "none", 1.0), row(2, "none", 1.0, library="mpich")])
    assert not overlap_advice.advise([row(1, "none", 1.0), row(2, "none", 1.0, status="hung")])
    (vectors,) = overlap_advice.advise([row(p, "none", 1.0, op="allreduce", size=8) for p in (1, 2)])
    assert vectors.work.bytes == 8
    (blocks,) = overlap_advice.advise([row(p, "none", 1.0, op="alltoall", size=64 // p**2) for p in (1, 2)])
    assert blocks.work.bytes == 64


def test_the_way_that_is_most_often_first() -> None:
    rows = [
        row(p, mode, time, op="allreduce", size=size)
        for size in (8, 64, 512)
        for p, mode, time in ((1, "none", 2.0 if size < 512 else 1.0), (2, "none", 1.0), (2, "shared", 1.5))
    ]
    ((library, ways),) = overlap_advice.most_often_first(overlap_advice.advise(rows)).items()
    assert library == "ompl"
    assert ways == [
        (Way(2, "none", "default"), 3, 3),
        (Way(1, "none", "default"), 1, 3),
        (Way(2, "shared", "default"), 0, 3),
    ]


def test_the_command(tmp_path: Path) -> None:
    one = document(tmp_path / "one.json", row(1, "none", 300.0), row(1, "spare", 200.0, emulation="on paper"))
    two = document(tmp_path / "two.json", row(2, "none", 400.0, emulation="on paper"))
    result = tmp_path / "advice.json"
    done = run(str(one), str(two), "--json", str(result))
    assert done.exit_code == 0, done.output
    for text in ("p_node 1, spare", "Emulated: on paper", "2.00", "first", "at 1 of 1 works"):
        assert text in done.output
    (advice,) = json.loads(result.read_text())["advice"]
    assert [way["first"] for way in advice["ways"]] == [True, False, False]
    assert advice["work"]["bytes"] == 65536


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("{", "no result files"),
        ("[]", "no result files"),
    ],
)
def test_what_is_no_result_file_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    done = run(str(path))
    assert done.exit_code == 2
    assert complaint in unframed(done.output)
    assert run(str(tmp_path / "none.json")).exit_code == 2


def test_what_gives_no_advice_is_said(tmp_path: Path) -> None:
    old = row(1, "none", 1.0)
    del old["overall_interval"]
    for path, complaint in (
        (document(tmp_path / "song.json", schema="a song"), "schema must be"),
        (document(tmp_path / "empty.json"), "several p_node"),
        (document(tmp_path / "old.json", old), "no intervals"),
    ):
        done = run(str(path))
        assert done.exit_code == 2
        assert complaint in unframed(done.output)

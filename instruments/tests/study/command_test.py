# SPDX-License-Identifier: BSD-3-Clause
"""omni study halo as a user types it, small: what is done and said. Its times are no test's."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import unframed
from omnipgas_tools.cli import app
from omnipgas_tools.study import plan, tables
from typer.testing import CliRunner

SMALL = ("--quick", "--generate", "27pt:8", "--rounds", "1", "--timeout", "60")


def omni(*arguments: object) -> tuple[int, str]:
    """The exit status, and all that was said."""
    done = CliRunner().invoke(app, ["study", "halo", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def out(params: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result file of a whole study."""
    path = tmp_path_factory.mktemp("study") / "halo.json"
    code, said = omni("-o", path, *SMALL, *given(params))
    if "not installed" in said or "is not built" in said:
        pytest.skip(said.strip().splitlines()[-1])
    assert code == 0, said
    assert path.with_suffix(".md").read_text() in said
    return path


def given(params: Path) -> list[str]:
    return ["--params", f"mpich={params}", "--params", f"ompl={params}"]


@pytest.mark.long
def test_each_section_is_done(out: Path) -> None:
    found = json.loads(out.read_text())
    assert found["schema"] == "omnipgas-study-halo-1"
    costs = {(one["partition"], one["parts"]): one for one in found["partitions"]["all"]}
    assert set(costs) == {(kind, parts) for kind in ("row", "kway") for parts in (2, 4)}
    assert costs["row", 2]["quality"]["halo"] == 2 * 8**2 and costs["row", 4]["quality"]["interior_least"] == 0
    assert set(found["exchanges"]) == {f"{kind} {parts}, shm" for kind, parts in costs}
    for rows in (*found["exchanges"].values(), *found["neighbors"].values()):
        assert [row["status"] for row in rows] == ["ok"] * len(rows), rows
    assert set(found["neighbors"]) == {"1", "2"}
    assert len(found["modelled"]) == 3 * 4 * 3 and min(found["modelled"].values()) > 0
    for results in found["solves"].values():
        assert len(results) == 3 * 2 * 3
        assert all(one["of_mpi"]["median"] == 1 for one in results if one["strategy"] == plan.BASE)
    # A mark is reset and a flag sent before each exchange, whatever the machine.
    for kind, parts in costs:
        assert tables.gain(found, "spmv", kind, parts) > 0  # type: ignore[operator]


def test_what_is_modelled_is_called_so(out: Path) -> None:
    text = out.with_suffix(".md").read_text()
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(titles) == 6
    for title in titles[1:]:
        assert ("odelled" in title) != ("measured" in title), title
    assert out.with_suffix(".png").stat().st_size > 10_000


def test_it_goes_on_where_it_was(out: Path, params: Path, tmp_path: Path) -> None:
    found = json.loads(out.read_text())
    left = tmp_path / "halo.json"
    kept = dict(list(found["modelled"].items())[:-2])
    left.write_text(json.dumps(found | {"modelled": kept, "neighbors": {}}))
    code, said = omni("-o", left, *SMALL, *given(params), "--resume", "--sections", "modelled")
    assert code == 0, said
    steps = [line for line in said.partition("# Halo")[0].splitlines() if ": " in line]
    assert len(steps) == 2 and all(line.startswith("modelled: ") for line in steps)
    assert json.loads(left.read_text())["modelled"] == found["modelled"]  # from the same computation
    code, said = omni("-o", left, *SMALL, *given(params), "--resume", "--seed", "2")
    assert code == 1 and "another study" in unframed(said)


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--parts", "1"], 2, "below 2"),
        (["--params", "x"], 2, "MPI=FILE"),
        (["--params", "openmpi=x"], 2, "wanted of mpich and ompl"),
        (["--params", "ompl=nowhere", "--params", "mpich=nowhere"], 1, "there is no such file"),
        (["--sections", "all"], 2, "all"),
        (["--generate", "27pt:4", "--matrix", "x"], 2, "either"),
        (["--generate", "28pt:4", "--sections", "neighbors"], 1, "28pt:4"),
    ],
)  # fmt: skip
def test_wrong_options(tmp_path: Path, options: list[str], code: int, says: str) -> None:
    status, said = omni("-o", tmp_path / "halo.json", *options)
    assert (status, says in unframed(said)) == (code, True), said


def test_ratios_and_gains() -> None:
    found: dict[str, Any] = {
        "plan": {"parts": [4]},
        "modelled": {"cg, row 4, mpi": 2.0, "cg, row 4, single": 1.6, "cg, row 4, double-buffer": 1.2},
        "partitions": {"all": []},
        "neighbors": {
            "4": [
                {"op": "single", "status": "ok", "halo": {"of_base": {"median": 1.0, "low": 1.0, "high": 1.0}}},
                {"op": "double-buffer", "status": "ok", "halo": {"of_base": {"median": 0.9, "low": 0.8, "high": 1.1}}},
            ]
        },
    }
    assert tables.ratio(found, "cg", "row", 4, ("single", "mpi")) == pytest.approx(0.8)
    assert tables.gain(found, "cg", "row", 4) == pytest.approx(25)
    assert tables.gain(found, "cg", "kway", 4) is None
    assert tables.modelled(found)[2] == "| cg | 4 | 0.8000 | 0.6000 | - | - |"
    ((count, *gains),) = tables.ring_gains(found)
    assert count == 4 and gains == pytest.approx([10, -10, 20])

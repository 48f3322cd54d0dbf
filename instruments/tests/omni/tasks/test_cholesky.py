# SPDX-License-Identifier: BSD-3-Clause
"""The forms of the Cholesky factorization: each gives the right factor on several layouts."""

import io
import json
from pathlib import Path

import pytest
from commands import BUILD
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.measure.rounds import OK, Limits, Progress
from omnipgas_tools.targets import targets
from omnipgas_tools.tasks import cholesky, factorizations
from omnipgas_tools.tasks.cholesky import MINE, Size, Solves
from omnipgas_tools.tasks.plan import Contender, Layout
from rich.console import Console

from ..common import omni

LIMITS = Limits(rounds=1, min_rounds=1, timeout=240)


@pytest.mark.parametrize("layout", [Layout(1, 1), Layout(1, 3), Layout(2, 1), Layout(2, 2), Layout(3, 2)], ids=str)
def test_all_forms_factorize(layout: Layout) -> None:
    try:
        found = cholesky.contenders(BUILD, "mpich", layout, 240)
    except (MissingError, FailedError) as error:
        pytest.skip(str(error))
    assert [one.name for one in found] == [MINE, *cholesky.FORMS]
    solved = cholesky.measure(found, Size(96, 12), LIMITS, Progress())
    assert [(one.status, one.reason) for one in solved] == [(OK, "")] * 4
    assert all(one.rounds[0] > 0 for one in solved)
    assert [row["seconds"] for row in cholesky.rows(solved)] == [one.rounds for one in solved]


def test_a_form_that_ends_without_a_time_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho residual 1 is wrong; exit 1\n")
    broken.chmod(0o755)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    found = [Contender(one.name, Layout(1, 1), [str(one)], {}) for one in (broken, silent)]
    solved: list[Solves] = cholesky.measure(found, Size(96, 12), LIMITS, Progress())
    assert [one.status for one in solved] == ["crashed", "corrupt"]
    assert "is wrong" in solved[0].reason
    assert not any(cholesky.works(one) for one in solved)


def test_time_is_shown_against_threads(tmp_path: Path) -> None:
    """Two layouts, all four forms, as table, file and plot."""
    out, plot = tmp_path / "out.json", tmp_path / "plot.svg"
    done = omni(
        "tasks", "--cholesky", "96x12,96x24", "--layouts", "1x1,1x2,2x1", "--repeat", "2", "--timeout", "240",
        "--json", str(out), "--plot", str(plot),
    )  # fmt: skip
    if done.returncode == 1 and not out.exists():
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(out.read_text())
    assert content["schema"] == "omnipgas-cholesky-1"
    rows = content["results"]
    forms = [MINE, *cholesky.FORMS]
    assert [(row["contender"], row["rows"], row["tile"], row["ranks"], row["threads"]) for row in rows] == [
        (form, 96, tile, *layout) for tile in (12, 24) for layout in ((1, 1), (1, 2), (2, 1)) for form in forms
    ]
    assert all(row["status"] == "ok" and len(row["seconds"]) == 2 and row["median"]["median"] > 0 for row in rows)
    for form in forms:
        assert form in plot.read_text()
    said = " ".join(done.stdout.split())
    for title in ("tiles of 12, 1 rank;", "tiles of 12, 2 ranks;", "tiles of 24, 2 ranks;"):
        assert title in said


def test_a_form_without_a_time_has_no_point(tmp_path: Path) -> None:
    size, commands = Size(96, 12), dict[str, str]()
    good = Solves(contender=Contender("good", Layout(1, 2), [], commands), size=size, rounds=[0.5, 0.25])
    bad = Solves(contender=Contender("bad", Layout(1, 2), [], commands), size=size, status="hung", reason="no end")
    console = Console(record=True, width=120, file=io.StringIO())
    factorizations.show(console, [good, bad], {"Cholesky 9x9": "too large"})
    said = console.export_text()
    assert "375" in said
    assert "bad 1x2, 96 rows: hung: no end" in said
    assert "Cholesky 9x9 skipped: too large" in said
    factorizations.plot(tmp_path / "plot.svg", [good, bad])
    drawn = (tmp_path / "plot.svg").read_text()
    assert "good" in drawn
    assert "bad" not in drawn
    assert [row["median"] is None for row in factorizations.rows([good, bad])] == [False, True]


@pytest.mark.parametrize("wrong", ["96", "96x0", "x12", "96x11", "0x12"])
def test_sizes_that_are_none_are_refused(wrong: str) -> None:
    done = omni("tasks", "--cholesky", wrong)
    assert done.returncode == 2
    assert "ROWSxTILE" in done.stderr or "multiple" in done.stderr


def test_sizes_and_layouts_are_swept() -> None:
    declared = targets.declared("cholesky")
    assert len({target.name for target in declared}) == 12
    assert all(target.bound == 1.0 and target.at_most for target in declared)

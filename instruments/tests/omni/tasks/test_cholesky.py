# SPDX-License-Identifier: BSD-3-Clause
"""The forms of the Cholesky factorization: each gives the right factor on several layouts."""

from pathlib import Path

import pytest
from commands import BUILD
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.measure.rounds import OK, Limits, Progress
from omnipgas_tools.targets import targets
from omnipgas_tools.tasks import cholesky
from omnipgas_tools.tasks.cholesky import MINE, Size, Solves
from omnipgas_tools.tasks.plan import Contender, Layout

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


def test_sizes_and_layouts_are_swept() -> None:
    declared = targets.declared("cholesky")
    assert len({target.name for target in declared}) == 12
    assert all(target.bound == 1.0 and target.at_most for target in declared)

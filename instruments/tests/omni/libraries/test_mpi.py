# SPDX-License-Identifier: BSD-3-Clause
"""Every MPI that is there, and OMPL itself, end to end."""

import pytest
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.runner import Contender

from ..common import built, children

SHORT = Limits(rounds=1, min_rounds=1, seconds=0.002, timeout=60)
LIBRARIES = ["ompl", "mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_library_moves_verified_data_with_two_threads(library: str) -> None:
    found = built(library)
    ops = [op for op in found.library.ops if op != "putonly"]
    out = runner.run_interleaved(
        "pingpong", [Contender(found, op) for op in ops], [1, 2], [4, 4096], SHORT
    )
    assert [(c.contender.op, c.status, c.reason) for c in out.cells] == [
        (op, "ok", "") for op in ops
    ] * 4
    details = out.started[f"{library}, 2 threads"]["details"]
    if library != "ompl":
        assert details["thread level asked"] == details["thread level granted"] == "MPI_THREAD_MULTIPLE"
    assert not children()

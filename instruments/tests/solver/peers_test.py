# SPDX-License-Identifier: BSD-3-Clause
"""The solvers that the targets of CG are measured beside solve the same problem in as many iterations; and what the
targets make of runs. No time is looked at."""

from typing import Any

import pytest
from commands import BUILD
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.targets import solver as solver_targets
from omnipgas_tools.targets.measurement import Bench

SIDE = 12


@pytest.mark.parametrize("name", sorted(solver_targets.PEERS))
def test_a_peer_does_the_same_work(name: str) -> None:
    try:
        found = solver_targets.peer(BUILD, name, SIDE)
    except catalog.MissingError as missing:
        pytest.skip(str(missing))
    mine = solver_targets.ours(SIDE, "csr")
    assert found["iterations"] == mine["iterations"]
    assert found["relative_residual"] == pytest.approx(mine["relative_residual"], rel=1e-3)
    assert found["seconds_per_iteration"] > 0 and found["setup_seconds"] > 0


def test_memory_can_be_read() -> None:
    assert solver_targets.bandwidth(BUILD)["bytes_per_second"] > 1e6


def test_a_group_of_targets() -> None:
    bench = Bench(BUILD, Progress())
    targets = solver_targets.rounds(SIDE, count=1).answers(bench)
    assert len(targets) == 1 + 2 * (len(solver_targets.PEERS) + 2)
    assert targets[0].met, targets[0].note
    # A round is too few for a claim.
    assert all(target.value is None for target in targets[1:])
    assert len(bench.rows) == 1


def test_what_is_compared() -> None:
    def run(seconds: float, setup: float) -> dict[str, Any]:
        return {"iterations": 135, "seconds_per_iteration": seconds, "setup_seconds": setup, "rows": 10, "entries": 100}

    found = {"csr": [run(0.8, 1)] * 30, "sell": [run(0.7, 3)] * 30, "petsc": [run(1.0, 2)] * 30, "hypre": []}
    # 12 B of an entry and 96 of a row: 2160 B, in 0.5 s.
    found["bandwidth"] = [{"bytes_per_second": 4320.0}] * 30
    targets = {target.name: target for target in solver_targets.compared(found, {"hypre": "gone"}, 5)}
    found_csr = [target for name, target in targets.items() if "CSR" in name]
    assert [target.value for target in found_csr] == [
        pytest.approx(0.8), None, pytest.approx(1.6), pytest.approx(0.5)
    ]  # fmt: skip
    assert [target.met for target in found_csr] == [True, False, False, True]
    assert "gone" in found_csr[1].note

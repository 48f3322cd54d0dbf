# SPDX-License-Identifier: BSD-3-Clause
"""Every strategy of halo exchange in the processes of an MPI; OMPL_TEST_MPIS says which."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import Pattern, read, ring
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.targets.halo import exchange
from omnipgas_tools.targets.measurement import Bench

from ..common import built, children

MPIS = os.environ.get("OMPL_TEST_MPIS", "mpich,openmpi,intel,mpich-debian,openmpi-debian").split(",")
SHORT = Limits(rounds=2, min_rounds=2, tolerance=0.0, seconds=0.002, timeout=60)


def one_way(folder: Path) -> Pattern:
    """Of three ranks; odd sizes, and one that sends to itself."""
    file = folder / "pattern"
    file.write_text("0 1 100001\n1 2 1\n2 0 64\n1 1 9\n")
    return read(file)


@pytest.mark.parametrize("mpi", MPIS)
def test_all_strategies_land_what_was_sent(mpi: str, tmp_path: Path) -> None:
    strategies = [*halo_rounds.STRATEGIES, halo_rounds.AUTO]
    for pattern in (ring(2, 1, 80_000, 80_000), ring(6, 5, 8, 6000), one_way(tmp_path)):
        found = catalog.with_ranks(built(mpi, "halo"), pattern.ranks, catalog.build_dir())
        out = halo_rounds.measure(found, pattern, strategies, SHORT, 1, Progress())
        assert [(t.strategy, t.status, t.reason) for t in out.timings] == [(one, "ok", "") for one in strategies]
        assert [t.carried_by for t in out.timings[:-1]] == strategies[:-1]
        assert out.timings[-1].carried_by in strategies[:-1]
        assert not children()


@pytest.mark.parametrize("mpi", MPIS)
def test_targets_hold_ratios_with_intervals(mpi: str) -> None:
    found = built(mpi, "halo")
    bench = Bench(found.worker.parents[1], Progress())
    how = replace(SHORT, rounds=30, min_rounds=30)
    bounded, free = exchange(mpi, "here", ring(2, 1, 8, 8), {"mpi": 1e9, "single": None}, how).answers(bench)
    assert bounded.met and free.value
    for target in (bounded, free):
        assert target.low is not None and target.high is not None and target.low <= target.high

# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with computation by the layer and each MPI; OMPL_TEST_MPIS says which, OMPL_TEST_LONG=1 asks for more."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.overlap import rounds as overlap_rounds
from omnipgas_tools.overlap import rows as overlap_rows
from omnipgas_tools.overlap.plan import (
    COLLECTIVES,
    DEFAULT,
    IDLE,
    LOCKED_QUEUE,
    MODES,
    NONE,
    PAPERS_MODES,
    SHARED,
    Cell,
    Layout,
)
from omnipgas_tools.overlap.rounds import Journal

from ..common import built, children, idle_for_a_second, used_ns

sys.path.insert(0, str(Path(__file__).parents[4] / "tests/process"))

from launcher_test import leftovers, remove_orphans

MPIS = os.environ.get("OMPL_TEST_MPIS", "ompl,mpich,openmpi,intel,mpich-debian,openmpi-debian").split(",")
SHORT = Limits(rounds=1, seconds=0.002, iterations=20, timeout=60)
# Intel MPI 2021.18 crashes now and then while a thread of its own makes progress: bench/evidence/async_collectives.c.
UNSOUND = {"intel"}
# MPICH 4 never yields: where ranks share cores a call takes milliseconds.
SLOW = {"mpich-debian"}
HERE = tuple(catalog.affinity())
LONG = 1 << 20  # bytes
KERNEL = {"kernel": "memory", "elements": 1000}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Nothing stays of ranks that end early: MPICH's, where an algorithm cannot be used."""
    before = leftovers()
    yield
    remove_orphans(leftovers() - before)


def measured(
    mpi: str, modes: Sequence[str], algorithms: Sequence[str], cells: Sequence[Cell], layout: Layout
) -> list[Result]:
    """The rows of the series that the MPI can have."""
    build = catalog.build_dir()
    found = catalog.with_ranks(built(mpi, "overlap"), layout.ranks, build)
    family = overlap_plan.families(build)[found.library.family]
    collectives = list(dict.fromkeys(cell.collective for cell in cells))
    series = [
        overlap_plan.series(found, family, layout, mode, algorithm, collectives)
        for mode in modes if mode == NONE or mode in family.more or (mode in PAPERS_MODES and family.progress)
        for algorithm in algorithms
    ]  # fmt: skip
    out = overlap_rounds.measure(series, cells, SHORT, 1, Progress(), Journal(None, {}))
    assert not children()
    return overlap_rows.rows(out)


def check(row: Result) -> None:
    """What must hold of any measurement, whatever its times."""
    assert row["status"] == "ok", row["reason"]
    assert row["reason"] is None
    parts = row["init_us"] + row["compute_us"] + row["wait_us"]
    assert parts == pytest.approx(row["overall_us"], rel=1e-6)
    expected = overlap_rows.overlap_percent(row["pure_us"], row["compute_us"], row["overall_us"])
    assert row["overlap_percent"] == pytest.approx(expected)
    assert row["compute_slowdown"] == pytest.approx(row["compute_us"] / row["alone_us"])
    assert 0 < row["cores_charged"] <= len(HERE) * 1.05


@pytest.mark.parametrize("mpi", MPIS)
def test_modes(mpi: str) -> None:
    layout = Layout(2, 2, 1, HERE)
    wanted = (NONE, SHARED, IDLE, LOCKED_QUEUE)
    rows = measured(mpi, wanted, [DEFAULT], [Cell("allgather", 8, "1"), Cell("allgather", 65536, "1")], layout)
    for row in rows:
        check(row)
        assert (row["ranks"], row["n_node"], row["n_cpu"], row["p_node"], row["t_calc"]) == (2, 2, 2, 1, 2)
        assert row["t_node"] == (3 if row["mode"] in (SHARED, LOCKED_QUEUE) else 2)
        assert row["elements"] >= 2
        assert row["version"] and row["overall_of_none"]["rounds"] == 1
    modes = wanted if mpi == "ompl" else {row["mode"] for row in rows}
    expected = {(mode, size) for mode in modes for size in (8, 65536)}
    assert {(row["mode"], row["size"]) for row in rows} == expected


def test_an_algorithm_that_cannot_be_used_is_told() -> None:
    if "mpich" not in MPIS:
        pytest.skip("of MPICH")
    cells = [Cell("allreduce", 1, "1")]  # Rabenseifner's needs an element for each rank
    (row,) = measured("mpich", (NONE,), ["rabenseifner"], cells, Layout(2, 2, 1, HERE))
    assert row["status"] == "crashed"
    assert "User set collective algorithm is not usable" in row["reason"]


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != LOCKED_QUEUE])
def test_a_mode_with_nothing_outstanding_burns_no_cpu(mode: str) -> None:
    if "ompl" not in MPIS:
        pytest.skip("of the layer")
    layout = Layout(2, 2, 1, HERE)
    family = overlap_plan.families(catalog.build_dir())["ompl"]
    found = catalog.with_ranks(built("ompl", "overlap"), layout.ranks, catalog.build_dir())
    series = overlap_plan.series(found, family, layout, mode, DEFAULT, ["allgather"])
    with Worker(series.found, layout.t_calc(mode), LONG) as worker:
        ranks = range(layout.ranks)
        worker.all_ranks("create", "allgather", 60, 1, [KERNEL | layout.places(mode, rank) for rank in ranks])
        worker.all_ranks("pure", "allgather", 60, 20, [{"skew": 0.0} for _ in ranks])
        pids = [int(hello["pid"]) for hello in worker.hello.values()]
        assert min(map(used_ns, pids)) > 0
        assert idle_for_a_second(pids)


@pytest.mark.long
@pytest.mark.parametrize("mpi", MPIS)
def test_everything_there_is(mpi: str) -> None:
    built(mpi, "overlap")
    family = overlap_plan.families(catalog.build_dir())[catalog.table()[mpi].family]
    algorithms = overlap_plan.algorithms({mpi: family})
    cells = [
        Cell(collective, size, "1", kernel, skew)
        for collective in COLLECTIVES
        for size in (1, 8, 4096, 100_001)
        for kernel, skew in (("memory", 0.0), ("registers", 50.0))
    ]
    for layout in (Layout(2, 2, 1, HERE), Layout(1, 2, 1, HERE), Layout(2, 2, 2, HERE)):
        modes = tuple(mode for mode in MODES if layout.share > 1 or mode != "spare")
        fewer = mpi in SLOW and layout.ranks > len(HERE)
        for row in measured(mpi, modes, algorithms, cells[::3] if fewer else cells, layout):
            if row["algorithm"] != DEFAULT and "not usable" in str(row["reason"]):
                continue  # MPICH refuses what it cannot use for these ranks or sizes, and says so
            if mpi in UNSOUND and row["mode"] != NONE and row["status"] in ("crashed", "skipped"):
                continue
            check(row)

# SPDX-License-Identifier: BSD-3-Clause
"""The libraries beside the MPIs, and other ways to use an MPI, end to end: what is there moves verified data."""

import os

import pytest
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.runner import Contender

from ..common import built, children

SHORT = Limits(rounds=1, min_rounds=1, seconds=0.002, timeout=60)
LEVELS = {
    "oshmem-debian": "SHMEM_THREAD_MULTIPLE",
    "shmem-ompl": "SHMEM_THREAD_MULTIPLE",
    "ucx-workers": "UCS_THREAD_MODE_SERIALIZED",
    "ucx-shared": "UCS_THREAD_MODE_MULTI",
    "ucx-wheel": "UCS_THREAD_MODE_SERIALIZED",
    "libfabric": "FI_THREAD_DOMAIN",
    "libfabric-shared": "FI_THREAD_SAFE",
    "libfabric-wheel": "FI_THREAD_DOMAIN",
    "mpi-delegate": "MPI_THREAD_FUNNELED",
    "ompl-mpich": "MPI_THREAD_MULTIPLE",
    "ompl-openmpi": "MPI_THREAD_MULTIPLE",
    "ompl-intel": "MPI_THREAD_MULTIPLE",
    "armci-debian": "MPI_THREAD_MULTIPLE, of its MPI",
}


@pytest.mark.parametrize("library", os.environ.get("OMPL_TEST_LIBRARIES", ",".join(LEVELS)).split(","))
def test_library_moves_verified_data_with_two_threads(library: str) -> None:
    found = built(library)
    ops = [op for op in found.library.ops if op != "putonly"]
    out = runner.run_interleaved("pingpong", [Contender(found, op) for op in ops], [2], [4, 4096], SHORT)
    assert [c.reason for c in out.cells if c.status != "ok"] == []
    assert [c.contender.op for c in out.cells] == ops * 2
    details = out.started[f"{library}, 2 threads"]["details"]
    assert details["thread level asked"] == LEVELS[library]
    assert not children()


@pytest.mark.parametrize("library", os.environ.get("OMPL_TEST_CALLS", "ompl,ucx-workers").split(","))
def test_remote_calls_move_verified_data_with_two_threads(library: str) -> None:
    contenders = [Contender(built(library, "calls"), "call")]
    for bench in ("pingpong", "flow"):
        out = runner.run_interleaved(bench, contenders, [2], [4, 8, 256], SHORT)
        assert [c.reason for c in out.cells if c.status != "ok"] == []
        assert [min(c.values()) > 0 for c in out.cells] == [True] * 3
    assert not children()


def test_a_target_that_sleeps_has_all_that_was_put() -> None:
    found = built("ucx-workers")
    out = runner.run_interleaved("rate", [Contender(found, op) for op in ("put", "putonly")], [2], [8], SHORT)
    assert [c.reason for c in out.cells if c.status != "ok"] == []
    assert len(out.cells) == 2


def test_ucx_of_the_wheel_is_another_one() -> None:
    versions = []
    for library in ("ucx-workers", "ucx-wheel"):
        contender = Contender(built(library), "put")
        versions.append(runner.run_interleaved("pingpong", [contender], [1], [8], SHORT).cells[0].version)
    assert versions[0] != versions[1]

# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of ompl_cg find what was found without it, whatever carries the halo, cuts the matrix or stores it."""

import gzip
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import jobs

N = 20
PROBLEM = ("cg", "--generate", f"27pt:{N}")
STRATEGIES = ("double-buffer", "single", "acked", "auto")
PARTITIONS = ("row", "entries", "kway", "recursive", "blocks")
FORMATS = ("csr", "sell")


def reference() -> list[float]:
    size = (N, N, N)
    ones = np.ones(N**3)
    return jobs.conjugate_gradients(lambda x: jobs.stencil_27(x, size), jobs.stencil_27(ones, size), 1e-8)


def check(result: dict[str, Any], history: list[float]) -> None:
    """Rounding in another order moves the last digits, more of them the later it is."""
    assert result["converged"]
    assert result["iterations"] == len(history) - 1 == 30
    np.testing.assert_allclose(result["history"], history, rtol=1e-6)
    assert result["relative_residual"] == result["history"][-1]
    assert result["true_relative_residual"] == pytest.approx(result["relative_residual"], rel=1e-4)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_strategy_finds_the_known_history_to_the_bit_alike(ranks: int) -> None:
    history = reference()
    found = []
    for i, (strategy, form) in enumerate(itertools.product(STRATEGIES, FORMATS)):
        result = jobs.solved(ranks, *PROBLEM, "--strategy", strategy, "--format", form, "--threads", 1 + i % 3)
        check(result, history)
        assert (result["ranks"], result["strategy"], result["format"]) == (ranks, strategy, form)
        assert result["strategy_used"] == (None if strategy == "auto" else strategy)  # 33 exchanges are too few
        found.append(result["history"])
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_partition_finds_the_known_history(ranks: int, partition: str) -> None:
    history = reference()
    for form in FORMATS:
        result = jobs.solved(ranks, *PROBLEM, "--partition", partition, "--format", form)
        check(result, history)
        assert result["quality"]["halo"] > 0
        assert 0 < result["quality"]["interior_least"] < 1


def test_auto_chooses_one_on_the_way() -> None:
    result = jobs.solved(2, *PROBLEM, "--strategy", "auto", "--tol", 1e-14, "--precond", "jacobi")
    times = result["strategies_us"]
    assert list(times) == list(STRATEGIES[:3])
    assert times[result["strategy_used"]] == min(times.values()) > 0
    assert result["history"] == jobs.solved(2, *PROBLEM, "--tol", 1e-14, "--precond", "jacobi")["history"]


def test_over_a_network() -> None:
    done = jobs.run(3, *PROBLEM, OMPL_CONDUITS="self,ofi")
    if "is not in this build" in done.errors:
        pytest.skip(done.errors.strip().splitlines()[0])
    assert done.code == 0, done.errors
    check(done.result, reference())


def test_one_history_for_any_number_of_threads() -> None:
    problem = (*PROBLEM, "--precond", "bjacobi", "--blocks", 3)
    histories = [jobs.solved(2, *problem, "--threads", threads)["history"] for threads in (1, 2, 5)]
    assert histories[0] == histories[1] == histories[2]
    assert len(histories[0]) > 10


@pytest.mark.parametrize("partition", PARTITIONS)
def test_products_to_the_bit_in_the_users_order(tmp_path: Path, partition: str) -> None:
    size = (9, 8, 7)
    x = 1.0 + np.arange(9.0 * 8 * 7) % 7
    expected = jobs.stencil_27(x, size)
    for ranks, form in itertools.product((1, 3, 4), FORMATS):
        path = tmp_path / f"{ranks}{form}"
        options = ("--generate", "27pt:9x8x7", "--partition", partition, "--format", form, "--iterations", 3)
        assert jobs.solved(ranks, "spmv", *options, "--solution", path)["iterations"] == 3
        np.testing.assert_array_equal(jobs.read_vector(path), expected)


def some_matrix(rows: int, symmetric: bool) -> jobs.Vector:
    """Sparse, its diagonal dominant, its pattern like no grid's."""
    random = np.random.default_rng(20240719)
    a = np.where(random.random((rows, rows)) < 0.1, random.random((rows, rows)), 0)
    if symmetric:
        a = np.tril(a) + np.tril(a, -1).T
    return a + rows * np.eye(rows)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_products_with_an_unsymmetric_matrix_of_a_file(tmp_path: Path, strategy: str) -> None:
    a = np.round(some_matrix(40, False) * 16)
    a[:20, 20:] = 0  # the second half sends nothing to the first
    matrix = jobs.write_matrix(tmp_path / "a.mtx", a)
    for partition, ranks in itertools.product(("row", "kway"), (2, 3)):
        options = ("--matrix", matrix, "--strategy", strategy, "--partition", partition)
        jobs.solved(ranks, "spmv", *options, "--solution", tmp_path / "y")
        np.testing.assert_array_equal(jobs.read_vector(tmp_path / "y"), a @ (1.0 + np.arange(40) % 7))


@pytest.mark.parametrize("precondition", ["none", "jacobi", "bjacobi"])
def test_a_right_hand_side_and_a_matrix_of_files(tmp_path: Path, precondition: str) -> None:
    a = some_matrix(60, True)
    a *= np.outer(*2 * [1.0 + np.arange(60) % 5])  # badly scaled
    expected = np.linspace(-1, 1, 60)
    plain = jobs.write_matrix(tmp_path / "a.mtx", a, "symmetric")
    packed = tmp_path / "a.mtx.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    rhs = jobs.write_vector(tmp_path / "b.mtx", a @ expected)
    for ranks, form in itertools.product((1, 3), FORMATS):
        options = ("--rhs", rhs, "--precond", precondition, "--format", form, "--tol", 1e-12)
        result = jobs.solved(ranks, "cg", "--matrix", packed, *options, "--solution", tmp_path / "x")
        np.testing.assert_allclose(jobs.read_vector(tmp_path / "x"), expected, atol=1e-9)
        assert (result["iterations"] < 25) == (precondition != "none")


@pytest.mark.parametrize("solver", ["groppcg", "pipecg"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_sums_behind_the_work_find_the_known_history_to_the_bit_alike(solver: str, ranks: int) -> None:
    found = []
    for i, (strategy, form) in enumerate(itertools.product(STRATEGIES, FORMATS)):
        options = ("--solver", solver, "--strategy", strategy, "--format", form, "--threads", 1 + i % 3)
        result = jobs.solved(ranks, *PROBLEM, *options)
        assert result["iterations"] == 30
        np.testing.assert_allclose(result["history"], reference(), rtol=1e-5)
        found.append(result["history"])
    assert all(history == found[0] for history in found)


def test_a_checkpoint_is_a_start(tmp_path: Path) -> None:
    begun = jobs.run(3, *PROBLEM, "--max-iterations", 20, "--checkpoint", tmp_path / "x", "--checkpoint-every", 10)
    assert begun.code == 1
    assert begun.result["stop"] == "the most iterations are done"
    assert "before iteration 20" in (tmp_path / "x").read_text()[:100]
    result = jobs.solved(2, *PROBLEM, "--start", tmp_path / "x", "--solution", tmp_path / "solution")
    assert result["history"][0] == pytest.approx(begun.result["history"][19], rel=1e-9)
    np.testing.assert_allclose(jobs.read_vector(tmp_path / "solution"), 1, atol=1e-6)

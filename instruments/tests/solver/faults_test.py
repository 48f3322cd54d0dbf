# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of ompl_cg that cannot solve say why, in one line, and end; nobody waits for who has failed."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from commands import LIMIT

from . import jobs

REFUSED, UNSOLVED = 2, 1


def refused(ranks: int, *arguments: object) -> str:
    """What it says of it, once."""
    done = jobs.run(ranks, *arguments)
    assert done.code == REFUSED, done.errors
    lines = [line for line in done.errors.splitlines() if not line.startswith("omplrun:")]
    assert len(lines) == 1, done.errors
    assert not done.result
    return lines[0]


@pytest.mark.parametrize(
    ("what", "ranks", "why"),
    [
        ("27p:20", 2, "it must be 27pt:N"),
        ("27pt:", 2, "it must be 27pt:N"),
        ("27pt:20x20", 2, "it must be 27pt:N"),
        ("27pt:20:1,1,1", 2, "it must be 27pt:N"),
        ("aniso:20:1,1", 2, "it must be 27pt:N"),
        ("aniso:20:1,1,-1", 2, "it must be 27pt:N"),
        ("27pt:0", 2, "no points"),
        ("27pt:3000", 2, "more than 2147483647 points"),
        ("7pt:1x1x2", 3, "2 rows are too few for 3 parts"),
    ],
)
def test_grids(what: str, ranks: int, why: str) -> None:
    assert why in refused(ranks, "cg", "--generate", what)


def test_files(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate real general\n"
    for text, why in (
        (head + "2 3 2\n1 1 1\n2 2 1\n", "only a square one"),
        (head + "2 2 2\n1 1 nan\n2 2 1\n", "finite"),
        (head + "2 2 2\n1 1 1\n", "a.mtx"),
        (head + "0 0 0\n", "the matrix is empty"),
        (head.replace("real", "complex") + "1 1 1\n1 1 1 0\n", "complex"),
        (head + "2 2 2\n1 1 1\n1 2 1\n", "row 2 has no entries"),
        (head + "2 2 3\n1 1 1\n2 2 1\n2 2 1\n", "second time"),
    ):
        (tmp_path / "a.mtx").write_text(text)
        assert why in refused(2, "cg", "--matrix", tmp_path / "a.mtx"), text
    assert "missing" in refused(3, "cg", "--matrix", tmp_path / "missing")


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_line_of_a_file_that_ranks_share(tmp_path: Path, ranks: int) -> None:
    rows = [f"{i} {i} 1\n" for i in range(1, 41)]  # from line 3 on
    path = tmp_path / "a.mtx"
    for after, text, count, why in (
        (20, "% moves on\n19 19 one\n", 41, '24: "one" is not a real number'),
        (40, "1 41 1\n", 41, "43: the column is 41; it must be 1 to 40"),
        (40, "3 4 1\n", 40, "43: there is more than the sizes say"),
        (40, "", 41, "42: the file ends after 40 of 41 entries; is it complete?"),
        (30, "7 7 1\n", 41, "33: row 7, column 7 stands here a second time; add the two or leave one out"),
    ):
        entries = "".join([*rows[:after], text, *rows[after:]])
        path.write_text(f"%%MatrixMarket matrix coordinate real general\n40 40 {count}\n{entries}")
        assert refused(ranks, "cg", "--matrix", path) == f"ompl_cg: {path}:{why}"


def test_what_does_not_fit_the_matrix(tmp_path: Path) -> None:
    matrix = jobs.write_matrix(tmp_path / "a.mtx", np.eye(6))
    short = jobs.write_vector(tmp_path / "b", np.ones(5))
    assert "5 numbers, but the matrix has 6 rows" in refused(2, "cg", "--matrix", matrix, "--rhs", short)
    assert "5 numbers" in refused(2, "cg", "--matrix", matrix, "--start", short)
    short.write_text(short.read_text().replace("5 1\n1.0", "6 1\n1.0\ninf"))
    assert "finite" in refused(2, "cg", "--matrix", matrix, "--rhs", short)
    assert "cuts grids" in refused(2, "cg", "--matrix", matrix, "--partition", "blocks")
    nowhere = tmp_path / "no" / "x"
    assert "cannot write" in refused(2, "cg", "--matrix", matrix, "--solution", nowhere)
    assert "cannot write" in refused(
        2, "cg", "--generate", "27pt:9", "--checkpoint", nowhere, "--checkpoint-every", 1
    )


def test_one_rank_alone_refuses(tmp_path: Path) -> None:
    a = np.eye(6)
    a[5, 5] = -1  # on the last rank
    matrix = jobs.write_matrix(tmp_path / "a.mtx", a)
    for precondition, why in (("jacobi", "above 0"), ("bjacobi", "pivot")):
        said = refused(3, "cg", "--matrix", matrix, "--precond", precondition)
        assert "rank 2: " in said
        assert why in said
    assert "rows" in refused(3, "cg", "--generate", "7pt:5x1x1", "--precond", "bjacobi", "--blocks", 2)


def test_not_positive_definite(tmp_path: Path) -> None:
    a = np.diag([1.0, -2, 3, -4, 5, -6])
    done = jobs.run(3, "cg", "--matrix", jobs.write_matrix(tmp_path / "a.mtx", a))
    assert done.code == UNSOLVED
    assert not done.result["converged"]
    assert "not positive definite" in done.result["stop"]
    assert done.result["history"]


def test_not_symmetric_is_warned_of_once(tmp_path: Path) -> None:
    a = 4 * np.eye(6) + np.eye(6, k=1)
    done = jobs.run(3, "cg", "--matrix", jobs.write_matrix(tmp_path / "a.mtx", a), "--max-iterations", 30)
    assert done.errors.count("warning: the matrix is not symmetric") == 1
    a += np.eye(6, k=-1)
    done = jobs.run(3, "cg", "--matrix", jobs.write_matrix(tmp_path / "a.mtx", a))
    assert (done.code, done.errors) == (0, "")


def test_overflow_ends_with_a_reason(tmp_path: Path) -> None:
    a = 1e300 * np.eye(6)
    done = jobs.run(2, "cg", "--matrix", jobs.write_matrix(tmp_path / "a.mtx", a))
    assert done.code == UNSOLVED
    assert "not a finite number" in done.result["stop"]
    assert done.result["true_relative_residual"] is None


def test_exchanges_by_mpi_without_one() -> None:
    assert "there is no MPI in this process" in refused(2, "cg", "--generate", "27pt:5", "--strategy", "mpi")


@pytest.mark.parametrize("keep_going", [False, True])
@pytest.mark.parametrize(
    ("strategy", "solver"),
    [("double-buffer", "cg"), ("single", "cg"), ("acked", "cg"), ("double-buffer", "pipecg"), ("single", "groppcg")],
)
def test_a_rank_that_is_killed_on_the_way(tmp_path: Path, strategy: str, solver: str, keep_going: bool) -> None:
    checkpoint = tmp_path / "x"
    problem = ("cg", "--generate", "27pt:40", "--strategy", strategy, "--solver", solver)
    endless = ("--tol", 0, "--max-iterations", 10**9, "--checkpoint", checkpoint, "--checkpoint-every", 1)
    command = jobs.command(3, *problem, *endless, keep_going=keep_going)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        end = time.monotonic() + LIMIT
        while not checkpoint.exists() or len(jobs.children_of(job.pid, "ompl_cg")) < 3:
            assert job.poll() is None and time.monotonic() < end, "no checkpoint came"
            time.sleep(0.01)
        os.kill(jobs.children_of(job.pid, "ompl_cg")[1], signal.SIGKILL)
        out, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == (UNSOLVED if keep_going else 128 + signal.SIGKILL), errors
    assert "result" not in out
    assert re.search(r"rank \d.*(SIGKILL|Killed|signal 9)", errors), errors
    if keep_going:
        assert "OMPL_ERR_PEER" in errors
    jobs.solved(2, "cg", "--generate", "27pt:40", "--start", checkpoint)

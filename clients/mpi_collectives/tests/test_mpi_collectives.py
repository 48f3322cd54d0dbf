# SPDX-License-Identifier: BSD-3-Clause
"""Programs of each MPI whose collectives the layer serves: the same results as MPI's own, and nothing stands still."""

import os
import re
import subprocess
from pathlib import Path

import commands
import pytest
from commands import BUILD
from launching import LIMIT, SETTINGS, launcher
from omnipgas_tools.libraries.compilers import Target, targets

HERE = Path(__file__).parent
MPIS = os.environ["OMPL_TEST_MPIS"].split(",") if os.environ["OMPL_TEST_LONG"] == "0" else None
FOUND = {target.name: target for target in targets(BUILD)[0] if MPIS is None or target.name in MPIS}
SERVED = 15  # functions of which the program calls some that are the layer's


@pytest.fixture(scope="module", params=sorted(FOUND) or [""])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, Path]:
    """The program, compiled for an MPI."""
    if not request.param:
        pytest.skip("none of the MPIs that this test wants is installed")
    target, program = FOUND[request.param], tmp_path_factory.mktemp("program") / "program"
    target.run("-std=c++20", "-O1", "-Wall", "-Wextra", HERE / "program.cpp", "-o", program)
    return target, program


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_results_are_those_of_mpi(compiled: tuple[Target, Path], ranks: int) -> None:
    """By shared memory, and with two ranks over a network."""
    target, program = compiled
    for conduits in ("self,shm", "self,ofi")[: ranks if ranks < 3 else 1]:
        done = commands.omni(
            "collectives", "--statistics", "--", *launcher(target, ranks), program,
            env=os.environ | SETTINGS | {"OMPL_CONDUITS": conduits}, timeout=LIMIT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "fine" in done.stdout
        counts = {
            name: (int(served), int(passed))
            for name, served, passed in re.findall(r"libompl-coll: (MPI_\w+) (\d+) (\d+)", done.stderr)
        }
        assert len([name for name, (served, _) in counts.items() if served > 0]) >= SERVED, done.stderr
        assert counts["MPI_Reduce"][1] > 0, "an operation of the program's own is MPI's"


def test_a_command_without_an_mpi_program_is_refused_in_a_line() -> None:
    done = commands.omni("collectives", "--", "true")
    assert done.returncode == 2
    assert "is linked with an MPI" in commands.unframed(done.stderr)


def test_what_is_no_mpi_program_runs_as_it_is(compiled: tuple[Target, Path]) -> None:
    """The interposer comes into launchers and shells, too."""
    library = BUILD / f"lib/libompl-coll-{compiled[0].name}.so"
    done = subprocess.run(
        ["sh", "-c", "echo still"], env={**os.environ, "LD_PRELOAD": str(library)}, text=True, capture_output=True,
        timeout=LIMIT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "still\n"), done.stderr

# SPDX-License-Identifier: BSD-3-Clause
"""The programs that show without our code what other libraries do: they compile, and say what they saw."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run

EVIDENCE = Path(__file__).parents[2] / "bench" / "evidence"
OPEN_MPI = ["--oversubscribe", "--bind-to", "none"]
SLEPT = re.compile(r"^\d+ puts by 2 threads were (?:complete|flushed) after (\d\.\d+) s; the target slept 0\.5", re.M)
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def said(compiler: str, name: str, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = folder / name
    options = ("-Wall", "-Wextra", "-Werror", "-pthread", "-rdynamic")
    run(compiler, *options, EVIDENCE / f"{name}.c", "-o", program, check=True)
    return run(*(part.replace("PROGRAM", str(program)) for part in command), env=ENVIRONMENT)


def test_none_is_forgotten() -> None:
    known = {"async_collectives", "oshmem_contexts", "oshmem_progress", "sleeping_mpi", "sleeping_shmem", "threads_mpi"}
    assert {path.stem for path in EVIDENCE.glob("*.c")} == known


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_put_of_mpi_to_a_target_that_sleeps(mpi: str, tmp_path: Path) -> None:
    launcher = [f"mpiexec.{mpi}", "-n", "2", *(OPEN_MPI if mpi == "openmpi" else [])]
    done = said(f"mpicc.{mpi}", "sleeping_mpi", *launcher, "PROGRAM", "2", "0.5", folder=tmp_path)
    took = SLEPT.search(done.stdout)
    missing = re.search(r"^missing there before it called MPI: (\d+), after the last flush: (\d+)$", done.stdout, re.M)
    assert took and missing, done.stdout + done.stderr
    assert (done.returncode == 0) == (float(took[1]) < 0.5 and missing[1] == "0")
    assert missing[2] == "0"


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_long_messages_between_threads_of_mpi(mpi: str, tmp_path: Path) -> None:
    launcher = [f"mpiexec.{mpi}", "-n", "2", *(OPEN_MPI if mpi == "openmpi" else [])]
    done = said(f"mpicc.{mpi}", "threads_mpi", *launcher, "PROGRAM", "2", "65536", "10", "30", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("2 threads played 10 rounds of 65536 bytes each in ") == 2


@pytest.mark.long
@pytest.mark.parametrize("collective", ["allgather", "allreduce", "alltoall", "broadcast", "reduce-scatter"])
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_collectives_of_mpi(mpi: str, collective: str, tmp_path: Path) -> None:
    launcher = [f"mpiexec.{mpi}", "-n", "2", *(OPEN_MPI if mpi == "openmpi" else [])]
    done = said(f"mpicc.{mpi}", "async_collectives", *launcher, "PROGRAM", collective, "300", folder=tmp_path)
    assert done.stdout == f"300 of {collective} are right\n", done.stderr


@pytest.mark.long
def test_a_put_of_openshmem_to_a_target_that_sleeps(tmp_path: Path) -> None:
    done = said("oshcc", "sleeping_shmem", "oshrun", "-n", "2", *OPEN_MPI, "PROGRAM", "2", "0.5", folder=tmp_path)
    took = SLEPT.search(done.stdout)
    assert took, done.stdout + done.stderr
    assert (done.returncode == 0) == (float(took[1]) < 0.5)


@pytest.mark.long
@pytest.mark.parametrize("how", ["quiet", "wait"])
def test_contexts_of_openshmem_that_are_driven(how: str, tmp_path: Path) -> None:
    command = ["oshrun", "-n", "2", *OPEN_MPI, "PROGRAM", "shared", how, "500"]
    done = said("oshcc", "oshmem_contexts", *command, folder=tmp_path)
    assert "all 500 rounds of 2 threads were played" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_which_calls_drive_openshmem(tmp_path: Path) -> None:
    done = said("oshcc", "oshmem_progress", "oshrun", "-n", "2", *OPEN_MPI, "PROGRAM", folder=tmp_path)
    entered = dict(re.findall(r"^(\w+): (\d+)$", done.stdout, re.M))
    assert entered.pop("shmem_ctx_quiet", None) is not None, done.stdout + done.stderr
    assert entered == {"shmem_test": "0", "shmem_fence": "0", "shmem_quiet": "0", "MPI_Iprobe": "1000"}

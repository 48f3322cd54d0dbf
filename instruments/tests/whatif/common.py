# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of this folder share: the MPIs of this build, and programs under them."""

import os
import subprocess

import pytest
from commands import BUILD, LIMIT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.model import examples

MPIS = os.environ.get("OMPL_TEST_MPIS", "mpich,openmpi,intel").split(",")


def launch(mpi: str, ranks: int) -> examples.Launch:
    """How it starts its ranks; skips the test where it is not installed."""
    try:
        return examples.launch(BUILD, mpi, ranks)
    except catalog.MissingError as missing:
        pytest.skip(str(missing))


def run(command: list[str], env: dict[str, str], ok: bool = True) -> str:
    """What a job printed. One that hangs is ended with its ranks by the launcher."""
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        try:
            out, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.terminate()
            raise
    assert (job.returncode == 0) == ok, f"{command}: {job.returncode}\n{out}{err}"
    return out if ok else err

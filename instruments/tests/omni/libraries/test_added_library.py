# SPDX-License-Identifier: BSD-3-Clause
"""A library of the user's: its adapter compiled against it, and started."""

import shutil
from pathlib import Path

import pytest
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.state import state_of

from ..common import compiled_against


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An installation of the user's: Open MPI's OpenSHMEM as a package in a folder of its own."""
    folder = tmp_path / "shmem"
    (folder / "bin").mkdir(parents=True)
    for name in ("oshc++", "oshrun"):
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"no {name}; apt-get install openmpi-bin libopenmpi-dev")
        root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"  # as its row in peers.toml has it
        (folder / "bin" / name).write_text(f'#!/bin/sh\n{root} exec {program} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return folder


def test_an_adapter_is_compiled_against_the_users_installation(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = compiled_against("openshmem", prefix, tmp_path, monkeypatch)
    state = state_of(catalog.table(made)["openshmem"], made, run=True)
    assert state.version.startswith("OpenSHMEM 1."), state.remark
    assert state.place == str(prefix)

# SPDX-License-Identifier: BSD-3-Clause
"""A library of the user's: its adapter compiled against it, and started."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from omnipgas import libraries, peers

from .common import built


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
    """With the arguments of the build, but into a folder of the test's."""
    raw = built("raw")
    build = raw.worker.parents[1]
    if not (build / "lib" / "libbench_harness.a").exists():
        pytest.skip("an installation compiles it elsewhere: tests/install")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    libraries.remember({"openshmem": str(prefix)})
    checkout = Path(libraries.__file__).parents[2]
    made = tmp_path / "build"
    (made / "bin").mkdir(parents=True)
    (made / "bench").mkdir()
    rows = (checkout / "bench" / "peers.toml").read_text()
    (made / "bench" / "peers.toml").write_text("[openshmem]" + rows.split("[openshmem]")[1].split("\n[ucx-workers]")[0])
    harness = build / "lib" / "libbench_harness.a"
    done = subprocess.run(
        [sys.executable, "-m", "omnipgas.build_workers", made, "--kind", "bench",
         "--source", checkout / "bench/adapters/mpi.cpp", "--depends", harness,
         "--", "-std=c++20", "-pthread", f"-I{checkout / 'bench'}", harness, "-lfmt"],
        capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip
    assert "compiled with" in done.stdout, done.stdout + done.stderr
    state = libraries.state_of(peers.table(made)["openshmem"], made, run=True)
    assert state.version.startswith("OpenSHMEM 1."), state.remark
    assert state.place == str(prefix)

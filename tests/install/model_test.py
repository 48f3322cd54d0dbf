# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace, predict and validate from an installation, far from the tree."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from .conftest import Installed

ONCE = "omni: compiling libompl-trace-mpi.so for mpi, once"


def test_a_program_is_traced_and_predicted(installed: Installed) -> None:
    both = [installed.trace("first"), installed.trace("second")]
    told = [installed.end(process)[1] for process in both]
    assert [ONCE in text for text in told].count(True) == 1, "of two at once one compiles"
    assert ONCE not in installed.end(installed.trace("third"))[1]
    for folder in ("first", "second", "third"):
        command = ("predict", folder, "--params", "myrinet", "--json", "-")
        found = json.loads(installed.run(sys.executable, "-m", "omnipgas_tools.cli", "model", *command)[0])
        assert found["predicted_seconds"] > 0 and len(found["per_rank"]) == 2
        assert found["messages"] == 2 * (20 + 3), "a step's, and those of three collectives"
    validate = ("validate", "--params", "myrinet", "--runs", "2", "--json", "-", "--", "mpiexec", "-n", "2")
    said = installed.run(sys.executable, "-m", "omnipgas_tools.cli", "model", *validate, installed.app, "64", "20")[0]
    assert len(json.loads(said)["measured"]["runs"]) == 2


def test_what_is_missing_is_named(installed: Installed, tmp_path: Path) -> None:
    def error(out: str, **env: str) -> str:
        said = installed.end(installed.trace(out, **env), ok=False)[1]
        assert "Traceback" not in said
        return " ".join(said.replace("│", " ").split())

    for name in ("ldd", "mpiexec"):
        (tmp_path / name).symlink_to(shutil.which(name, path=installed.env["PATH"]) or "")
    said = error("none", PATH=str(tmp_path))
    assert "put the mpicxx of your MPI on the PATH" in said and "OMNI_PEER_MPICH" in said
    assert "set XDG_CACHE_HOME to another folder" in error("none", XDG_CACHE_HOME="/proc/no")
    broken = tmp_path / "mpicxx"
    broken.write_text("#!/bin/sh\necho 'g++: not found' >&2\nexit 1\n")
    broken.chmod(0o755)
    assert "g++: not found" in error("none", PATH=f"{tmp_path}:{installed.env['PATH']}")
    assert not (installed.place / "none").exists()

# SPDX-License-Identifier: BSD-3-Clause
"""omni libs, and adding a library of one's own."""

import json
from pathlib import Path

import pytest
from commands import unframed
from omnipgas_tools.commands import libs
from omnipgas_tools.libraries import catalog
from typer.testing import CliRunner

from ..common import omni
from ..test_cli import mocks

__all__ = ["mocks"]  # a fixture


def test_what_is_here_and_how_to_get_the_rest(mocks: Path) -> None:
    done = omni("libs", build=mocks, check=True)
    here, _, missing = done.stdout.partition("Missing:")
    for name in ("raw", "sleepy", "fragile", "liar"):
        assert name in here
    assert "lies" in here  # its transport, as the mock says it
    assert "absent" not in here and "absent" in missing and "run make" in missing


def test_all_stands_for_every_library(mocks: Path) -> None:
    briefly = ["--threads", "1", "--sizes", "32", "--repeat", "1"]
    done = omni("pingpong", "--libs", "all", *briefly, "--json", "-", build=mocks, check=True)
    found = {row["library"]: row["status"] for row in json.loads(done.stdout)["results"]}
    assert found == {"raw": "ok", "sleepy": "ok", "fragile": "ok", "liar": "ok", "absent": "skipped"}


def test_unusable_additions_are_named_and_not_kept(
    mocks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMNI_BUILD_DIR", str(mocks))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with (mocks / "bench" / "peers.toml").open("a") as file:
        file.write(
            '[mine]\ntitle = "mine"\nops = ["put"]\nworker = "none"\nlaunch = ["{worker}"]\ncompiler = "c++"\n'
            'prefix = { variable = "OMNI_PEER_MINE" }\ncaveats = ["needs a start"]\n'
        )
    for arguments, complaint, status in (
        (["nonsense", str(tmp_path)], "'nonsense' is none of mine", 2),
        (["raw", str(tmp_path)], "'raw' is none of mine", 2),
        (["mine", str(tmp_path / "nowhere")], "is no folder", 2),
        (["mine", str(tmp_path)], "mine was not added: cmake failed", 1),
        (["mine", str(tmp_path)], "Known of mine: needs a start", 1),
    ):
        done = CliRunner().invoke(libs.app, ["add", *arguments])
        assert done.exit_code == status, done.output
        assert complaint in unframed(done.output + capfd.readouterr().err)
    assert catalog.added() == {}

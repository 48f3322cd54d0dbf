# SPDX-License-Identifier: BSD-3-Clause
"""Going on with a measurement that was interrupted."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from .test_cli import mocks, omni
from .test_results import SCHEMA

__all__ = ["mocks"]  # a fixture

ALL = ["pingpong", "--libs", "raw,fragile", "--threads", "1", "--repeat", "2", "--timeout", "2"]


def places(content: dict[str, Any]) -> list[tuple[str, int]]:
    return sorted((row["library"], row["size"]) for row in content["results"])


def test_what_a_file_has_is_kept_and_the_rest_is_measured(mocks: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    first = omni(*ALL, "--sizes", "16,32", "--json", str(file), build=mocks)
    assert first.returncode == 0, first.stderr
    content = json.loads(file.read_text())
    kept = next(row for row in content["results"] if (row["library"], row["size"]) == ("raw", 16))
    kept["latency_us"]["p50"] = 12345.0  # which no second measurement would find
    content["results"] = [row for row in content["results"] if (row["library"], row["size"]) != ("raw", 32)]
    file.write_text(json.dumps(content))
    second = omni(*ALL, "--sizes", "16,32,64", "--resume", "--json", str(file), build=mocks)
    assert second.returncode == 0, second.stderr
    content = json.loads(file.read_text())
    jsonschema.validate(content, SCHEMA)
    assert places(content) == [(name, size) for name in ("fragile", "raw") for size in (16, 32, 64)]
    assert not content["command"]["interrupted"]
    assert sum((row["latency_us"] or {}).get("p50") == 12345.0 for row in content["results"]) == 1
    assert {row["status"] for row in content["results"] if row["size"] == 64} == {"ok", "crashed"}
    assert "2 results of" in " ".join(second.stdout.split())


def test_a_file_that_does_not_fit_is_refused(mocks: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    first = omni(*ALL, "--sizes", "16", "--json", str(file), build=mocks)
    assert first.returncode == 0, first.stderr
    before = file.read_text()
    for arguments, complaint in (
        ([*ALL, "--sizes", "16", "--quick", "--json", str(file)], "other limits"),
        (["rate", "--libs", "raw", "--repeat", "2", "--json", str(file)], "of another command than rate"),
        ([*ALL, "--sizes", "16"], "needs --json FILE"),
    ):
        done = omni(*arguments, "--resume", build=mocks)
        assert done.returncode == 2
        assert complaint in " ".join(done.stderr.replace("│", " ").split())
    assert file.read_text() == before

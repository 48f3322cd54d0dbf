# SPDX-License-Identifier: BSD-3-Clause
"""Going on with a measurement that was interrupted."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from omnipgas_tools import files
from omnipgas_tools.measure import results, resuming

from .common import SCHEMA, contender, omni
from .test_cli import mocks

__all__ = ["mocks"]  # a fixture

ALL = ["pingpong", "--libs", "raw,fragile", "--threads", "1", "--repeat", "2", "--timeout", "20"]


def places(content: dict[str, Any]) -> list[tuple[str, int]]:
    return sorted((row["library"], row["size"]) for row in content["results"])


def test_what_a_file_has_is_kept_and_the_rest_is_measured(mocks: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    omni(*ALL, "--sizes", "16,32", "--json", str(file), build=mocks, check=True)
    content = json.loads(file.read_text())
    kept = next(row for row in content["results"] if (row["library"], row["size"]) == ("raw", 16))
    kept["latency_us"]["p50"] = 12345.0  # which no second measurement would find
    content["results"] = [row for row in content["results"] if (row["library"], row["size"]) != ("raw", 32)]
    file.write_text(json.dumps(content))
    second = omni(*ALL, "--sizes", "16,32,64", "--resume", "--json", str(file), build=mocks, check=True)
    content = json.loads(file.read_text())
    jsonschema.validate(content, SCHEMA)
    assert places(content) == [(name, size) for name in ("fragile", "raw") for size in (16, 32, 64)]
    assert not content["command"]["interrupted"]
    assert sum((row["latency_us"] or {}).get("p50") == 12345.0 for row in content["results"]) == 1
    assert {row["status"] for row in content["results"] if row["size"] == 64} == {"ok", "crashed"}
    assert "2 results of" in " ".join(second.stdout.split())


LIMITS = {"rounds": 6, "starts": 3}


def written(folder: Path, starts: int = 3) -> str:
    """A result file of two libraries; at 32 B one of them was measured in so many starts."""
    interval = {"median": 2.0, "low": 1.0, "high": 3.0, "rounds": 6}
    latency = dict.fromkeys(
        ("p50", "p90", "p99", "mean", "min", "max", "fastest_thread_mean", "slowest_thread_mean"), 2.0
    )
    good = {"version": "1", "transport": "made", "latency_us": latency | {"count": 9}, "bandwidth_MBps": 1.0}
    failed = {"status": "hung", "reason": "no answer"}
    rows = [
        results.empty("pingpong", library, "put", 1, size) | found
        for size, count in ((16, 3), (32, starts))
        for library, found in (("a", good | {"interval": interval | {"starts": count}}), ("b", failed))
    ]
    file = folder / "r.json"
    command = {"limits": LIMITS, "interrupted": starts < 3, "libraries": {}}
    file.write_text(json.dumps(results.document(results.machine(), command, rows)))
    return str(file)


def test_what_lacks_starts_of_its_jobs_is_measured_again(tmp_path: Path) -> None:
    both = [contender("good", name) for name in ("a", "b")]
    assert resuming.kept(written(tmp_path), "pingpong", LIMITS).apply(both) == {(1, 16), (1, 32)}
    assert resuming.kept(written(tmp_path, starts=2), "pingpong", LIMITS).apply(both) == {(1, 16)}
    third = [*both, contender("good", "c")]
    none = resuming.kept(written(tmp_path), "pingpong", LIMITS)
    assert none.apply(third) == set() and none.rows == []
    assert resuming.kept(str(tmp_path / "new.json"), "pingpong", LIMITS).apply(both) == set()


def test_a_compressed_file_is_one_too_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    plain, packed = written(tmp_path, starts=2), tmp_path / "r.json.gz"
    files.write(packed, Path(plain).read_text())
    assert packed.stat().st_size < Path(plain).stat().st_size
    assert resuming.kept(str(packed), "pingpong", LIMITS) == resuming.kept(plain, "pingpong", LIMITS)
    for damaged in (packed.read_bytes()[:-9], b"no such thing"):
        packed.write_bytes(damaged)
        with pytest.raises(typer.BadParameter, match="no result file"):
            resuming.kept(str(packed), "pingpong", LIMITS)


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file, other = written(tmp_path), tmp_path / "other"
    other.write_text("{}")
    for path, bench, limits, complaint in (
        (file, "pingpong", {**LIMITS, "rounds": 3}, "other limits"),
        (file, "rate", LIMITS, "of another command than rate"),
        (str(other), "rate", LIMITS, "no result file"),
        (None, "rate", LIMITS, "needs --json FILE"),
        ("-", "rate", LIMITS, "needs --json FILE"),
    ):
        with pytest.raises(typer.BadParameter, match=complaint):
            resuming.kept(path, bench, limits)

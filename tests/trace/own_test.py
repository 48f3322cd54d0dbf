# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace of a program of this layer: what is recorded, what is said of it, what it is predicted to take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(os.environ["OMNI_BUILD_DIR"])
LIMIT = 60  # seconds


def omni(*arguments: str | Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnipgas.cli", "model", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trace") / "out"
    done = omni("trace", "-o", out, "--", BUILD / "bin/omplrun", "-n", "2", BUILD / "bin/tests/trace_own")
    assert "OmniPGAS" in done.stderr
    assert "warning" not in done.stderr
    return out


def lines(folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [BUILD / "bin/ompl_trace_dump", folder], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_call_is_recorded_with_what_it_was_given(folder: Path) -> None:
    found = [
        [line for line in lines(folder) if "call" in line and line["rank"] == rank and line["call"] != "Tracer"]
        for rank in range(2)
    ]
    names = [[call["call"] for call in calls if call["call"] != "OmplPoll"] for calls in found]
    begin, end = ["Init", "OmplAlloc", "OmplAlloc"], ["OmplFlush", "OmplBarrier", "OmplFree", "Finalize"]
    first = ["OmplPut", "OmplPutWord", "OmplPut", "OmplQuiet", "OmplPutSignal", "OmplWait"]
    assert names[0] == [*begin, *first, *end]
    assert names[1] == [*begin, "OmplWait", "OmplWait", "OmplGet", "OmplPutWord", "OmplWait", *end]
    given = {(call["call"], call["peer"], call["bytes"]) for call in found[0] if call["peer"] >= 0}
    assert given == {("OmplPut", 1, 1000), ("OmplPutWord", 1, 0), ("OmplPut", 1, 100), ("OmplPutSignal", 1, 10)}
    assert ("OmplGet", 0, 200) in {(call["call"], call["peer"], call["bytes"]) for call in found[1]}
    assert any(call["call"] == "OmplPoll" for call in found[1])


def test_show_prints_them(folder: Path) -> None:
    said = omni("show", folder).stdout
    for name in ("OmplPut ", "OmplPutSignal", "OmplWait", "OmplBarrier"):
        assert name in said


def test_it_is_predicted_with_its_messages(folder: Path) -> None:
    command = [str(BUILD / "bin/ompl-model"), "predict", str(folder), "--params", "myrinet", "--no-sensitivity"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Of two: four barriers, the put with its signal, a put and its reply, a signal with data, a get, a signal.
    assert found["messages"] == 4 * 2 + 1 + 2 + 1 + 2 + 1
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {"OmplWait": 1}  # the one that timed out

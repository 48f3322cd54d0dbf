# SPDX-License-Identifier: BSD-3-Clause
"""The adapter of Verbs, run by omni in a virtual machine that has a Soft-RoCE device: what it moves is verified."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from omnipgas import peers

from .common import OMNI

VM = Path(__file__).parents[2] / "tests" / "vm" / "vm.py"
SKIP = 77
SECONDS = 300
SIZES = [4, 221, 8193]  # in the request, copied, read where they are
THREADS = [1, 2]


def test_the_adapter_moves_verified_data_over_soft_roce(tmp_path: Path) -> None:
    build = peers.build_dir()
    if not (build / "bin" / "ompl_bench_verbs").exists():
        pytest.skip("the worker is not built: apt-get install libibverbs-dev, then make")
    briefly = f"--repeat 1 --threads {','.join(map(str, THREADS))}"
    omni = f"OMNI_BUILD_DIR={build} PYTHONPATH={Path(peers.__file__).parents[1]} {shlex.join(OMNI)}"
    inner = (
        f"{omni} pingpong --libs verbs {briefly} --sizes {','.join(map(str, SIZES))} --json pingpong.json"
        f" && {omni} rate --libs verbs {briefly} --size {SIZES[0]} --json rate.json"
    )
    done = subprocess.run(
        [sys.executable, str(VM), "--seconds", str(SECONDS), "--job", str(tmp_path), inner],
        capture_output=True, text=True, timeout=SECONDS + 60, check=False,
    )  # fmt: skip
    if done.returncode == SKIP:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = {("put", size, threads) for size in SIZES for threads in THREADS}
    assert measured(tmp_path / "pingpong.json") == expected
    assert measured(tmp_path / "rate.json") == {(op, SIZES[0], t) for op in ("put", "putonly") for t in THREADS}


def measured(file: Path) -> set[tuple[str, int, int]]:
    """Operation, bytes and threads of what was measured with Verbs; the rest must have gone well too."""
    rows = json.loads(file.read_text())["results"]
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}, rows
    return {(row["op"], row["size"], row["threads"]) for row in rows if row["library"] == "verbs"}

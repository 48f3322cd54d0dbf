# SPDX-License-Identifier: BSD-3-Clause
"""The comparison between two hosts, measured, continued, published; and the baseline of shared sockets."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from commands import LIMIT, OMNI
from omnipgas_tools import CHECKOUT
from omnipgas_tools.measure import network
from omnipgas_tools.measure.worker import Worker

from .common import built, need_hosts

SCRIPT = CHECKOUT / "scripts/compare_hosts.py"


def test_it_publishes_and_goes_on(tmp_path: Path) -> None:
    built("sockets")
    need_hosts()
    wrapper = tmp_path / "omni"
    wrapper.write_text(f'#!/bin/sh\nexec {" ".join(OMNI)} "$@"\n')
    wrapper.chmod(0o755)
    line = [sys.executable, str(SCRIPT), "--omni", str(wrapper), "--folder", str(tmp_path / "docs"),
            "--kept", str(tmp_path / "kept"), "--libs", "sockets,ompl", "--threads", "1", "--sizes", "8",
            "--note", "A test.", "--", "--quick", "--repeat", "1"]  # fmt: skip
    said = ["", ""]
    for turn in range(2):
        done = subprocess.run(line, check=True, timeout=LIMIT, capture_output=True, text=True)
        said[turn] = " ".join((done.stdout + done.stderr).split())
    assert "were kept" not in said[0] and said[1].count("were kept") == 2  # the second one measures nothing anew
    page = (tmp_path / "docs" / "hosts.md").read_text()
    assert "A test." in page and "| `ompl sockets` |" in page and "| `sockets sockets` |" in page
    assert "put + flag, 8 B, million that arrive a second" in page
    assert all(len(row) <= 120 for row in page.splitlines() if not row.startswith("|"))
    with gzip.open(tmp_path / "docs/hosts/pingpong.json.gz") as file:
        assert json.load(file)["results"]


def test_threads_share_sockets_under_a_lock() -> None:
    """The harness looks at every byte."""
    baseline = network.over(built("sockets"), "sockets", None, endpoints=3)
    library = network.told(baseline.library, {"OMNI_ENDPOINTS": "3"}, "shared sockets")
    locked = replace(baseline, library=library, worker=baseline.worker.with_name("ompl_bench_shared_sockets"))
    with Worker(locked, threads=8, size=100_000) as worker:
        for op in locked.library.ops:
            for size in (4, 5_000, 100_000):
                assert worker.pingpong(op, size, 5, LIMIT, LIMIT).count == 40
                assert worker.flow(op, size, 20, 0.01, LIMIT).rate > 0
        assert worker.hello[0]["transport"] == "sockets under a lock"

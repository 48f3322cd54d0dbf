#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts and gets whose local side is memory of a GPU: gpu_test.py BUILD_DIR [--card]. Over a stand-in for CUDA's driver,
through memory, over each network that works on this host and over the emulator of uTofu; with --card over a real card's
driver, through memory."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 240.0
SKIPPED = 77
BUILD = Path(sys.argv[1]).resolve()
EMULATOR = BUILD / "tests/conduits/utofu/lib"


def conduits() -> list[str]:
    listed = subprocess.run(
        [str(BUILD / "bin/ompl-info")], text=True, capture_output=True, timeout=LIMIT_S, check=True
    ).stdout
    networks = [name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed, re.MULTILINE)]
    return ["shm", *networks] + (["utofu"] if EMULATOR.exists() else [])


def job(*worker: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BUILD / "bin/omplrun"), "-n", "2", "--timeout", "200", str(BUILD / "bin/tests/gpu_worker"), *worker],
        env={**os.environ, "OMPL_SEGMENT_SIZE": "1G", **environment},
        text=True,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


class StandIn(unittest.TestCase):
    def run_over(self, conduit: str, *worker: str, **environment: str) -> subprocess.CompletedProcess[str]:
        told = {"OMPL_CONDUITS": f"self,{conduit}", "UCX_TLS": "tcp,self"} | environment
        told["LD_LIBRARY_PATH"] = f"{BUILD}/tests/process/fake_gpu:{EMULATOR}"
        with tempfile.TemporaryDirectory() as folder:
            return job(*worker, UTOFU_EMULATOR_FABRIC=f"{folder}/fabric", **told)

    def holds(self, *worker: str, **environment: str) -> None:
        for conduit in conduits():
            with self.subTest(conduit=conduit):
                done = self.run_over(conduit, *worker, **environment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("done", done.stdout)

    def test_of_every_size_by_every_call(self) -> None:
        self.holds("check", str(4 << 20))

    def test_with_small_chunks(self) -> None:
        self.holds("check", str(100_000), OMPL_GPU_CHUNK="4096")

    def test_of_each_kind_of_memory(self) -> None:
        self.holds("kinds")

    def test_of_several_threads(self) -> None:
        self.holds("threads", OMPL_GPU_CHUNK="64K")

    def test_contexts_that_come_and_go(self) -> None:
        self.holds("contexts", OMPL_LOG="off")

    def test_errors_of_the_driver(self) -> None:
        self.holds("errors", OMPL_LOG="off")

    def test_without_pinned_memory(self) -> None:
        done = self.run_over("shm", "pageable")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cuMemHostRegister of", done.stderr)

    def test_the_memory_may_be_refused_or_overlooked(self) -> None:
        done = self.run_over("shm", "refused", OMPL_GPU="refuse", OMPL_LOG="off")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_over("shm", "check", OMPL_GPU="off")  # no CPU can read it
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "SIGSEGV|signal 11")


class Card(unittest.TestCase):
    def holds(self, *worker: str) -> None:
        done = job(*worker)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_of_every_size_by_every_call(self) -> None:
        self.holds("check")

    def test_of_each_kind_of_memory(self) -> None:
        self.holds("kinds")

    def test_of_several_threads(self) -> None:
        self.holds("threads")

    def test_contexts_that_come_and_go(self) -> None:
        self.holds("contexts")


if __name__ == "__main__":
    if "--card" in sys.argv[2:]:
        first = subprocess.run(
            [str(BUILD / "bin/tests/gpu_worker"), "look"], text=True, capture_output=True, timeout=LIMIT_S, check=False
        )
        if first.returncode == SKIPPED:
            print(first.stdout)
            sys.exit(SKIPPED)
    which = "Card" if "--card" in sys.argv[2:] else "StandIn"
    unittest.main(argv=[sys.argv[0], "-v", which])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_model.py must fail where a model does not do what its first comment says."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("check_model.py")


def check(head: str, body: str, *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="omnipgas-model-") as name:
        model = Path(name) / "tiny.pml"
        model.write_text(f"/*\n{head}\n*/\n{body}\n")
        done = subprocess.run([sys.executable, str(CHECK), str(model), *options], text=True, timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


class CheckModel(unittest.TestCase):
    def fails(self, reason: str, head: str, body: str, *options: str) -> None:
        code, output = check(head, body, *options)
        self.assertEqual(code, 1, output)
        self.assertIn(reason, output)

    def test_holds_and_finds_the_bug(self) -> None:
        code, output = check("@small X=1\n@bug X=2 : x==1", "byte x = X; active proctype p() { assert(x == 1) }")
        self.assertEqual(code, 0, output)

    def test_violated_assertion(self) -> None:
        self.fails("assertion violated", "@small X=2", "byte x = X; active proctype p() { assert(x == 1) }")

    def test_invalid_end_state(self) -> None:
        self.fails("invalid end state", "@small", "active proctype p() { false }")

    def test_bug_not_found(self) -> None:
        self.fails("was not found", "@small\n@bug X : any", "active proctype p() { assert(true) }")

    def test_bug_found_for_another_reason(self) -> None:
        self.fails("expected 'y==1'", "@small X=1\n@bug X=2 : y==1",
                   "byte x = X; active proctype p() { assert(x == 1) }")

    def test_unreached_state(self) -> None:
        body = "byte x; active proctype p() { if :: x == 0 :: x == 1 -> x = 2%s fi }"
        self.fails("reaches", "@small", body % "")
        self.assertEqual(check("@small", body % " /* unreached: on purpose */")[0], 0)

    def test_depth_too_small(self) -> None:
        body = "int i; active proctype p() { do :: i < 200000 -> i++ :: else -> break od }"
        self.fails("max search depth too small", "@small", body)

    def test_out_of_memory(self) -> None:
        body = "bool x[24]; active [24] proctype p() { x[_pid] = true }"  # 2^24 states
        self.fails("the search is incomplete", "@small", body, "--memory", "140")

    def test_syntax_error(self) -> None:
        self.fails("spin failed", "@small", "active proctype p() { nonsense nonsense }")

    def test_nothing_to_check(self) -> None:
        self.fails("no @small line", "nothing", "active proctype p() { skip }")


if __name__ == "__main__":
    if shutil.which("spin") is None:
        print("skipped: spin is not installed (Debian package: spin)")
        sys.exit(77)
    unittest.main()

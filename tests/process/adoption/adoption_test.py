#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Static data of programs, loaded at random addresses and at fixed ones, are adopted and written by another rank:
adoption_test.py BUILD_DIR. Over shared memory and over each network that works on this host."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

LIMIT_S = 120.0
BUILD = Path()


def conduits() -> list[str]:
    listed = subprocess.run(
        [str(BUILD / "bin/ompl-info")], text=True, capture_output=True, timeout=LIMIT_S, check=True
    ).stdout
    return ["shm"] + [name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed, re.MULTILINE)]


class Adoption(unittest.TestCase):
    def holds(self, how: str) -> None:
        for conduit in conduits():
            for program in ("adoption_worker", "adoption_worker_fixed"):
                with self.subTest(conduit=conduit, program=program):
                    job = [str(BUILD / "bin/omplrun"), "-n", "3", "--timeout", "100"]
                    done = subprocess.run(
                        [*job, str(BUILD / "bin/tests" / program), how],
                        env={**os.environ, "OMPL_SEGMENT_SIZE": "64M", "OMPL_CONDUITS": f"self,{conduit}"},
                        text=True,
                        capture_output=True,
                        timeout=LIMIT_S,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_of_all_ranks_together(self) -> None:
        self.holds("together")

    def test_of_each_rank_alone(self) -> None:
        self.holds("alone")


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], "-v"])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Remote calls of whole jobs: calls.py BUILD_DIR [--long]. Floods of 2 to 8 ranks with 1 to 8 threads in all
directions, and ranks that die: through memory and over TCP."""

import subprocess
import sys
import unittest
from pathlib import Path

from faults import JOB_LIMIT_S, PEER_DIED, Options, omplrun, run, run_tests

MEMORY = {"OMPL_CONDUITS": "self,shm"}
TCP = {"OMPL_CONDUITS": "self,tcp", "OMPL_ENDPOINTS": "2"}
SCARCE = {"OMPL_CREDITS": "4", "OMPL_CALL_MEMORY": "64K"}
FLOODS = ((2, 1, 1500), (2, 8, 150), (3, 4, 150), (8, 1, 60), (8, 2, 30))  # ranks, threads, calls of each to each
LONG_FLOODS = ((2, 8, 20_000), (4, 8, 4_000), (8, 8, 1_000), (5, 3, 5_000))
LONG = "--long" in sys.argv


class Calls(unittest.TestCase):
    def job(
        self, ranks: int, environment: dict[str, str], *arguments: str, keep_going: bool = False
    ) -> subprocess.CompletedProcess[str]:
        worker = str(Options.build / "bin/tests/call_worker")
        options = ["--keep-going"] if keep_going else []
        launcher = omplrun("--timeout", str(JOB_LIMIT_S), *options, "-n", str(ranks))
        done = run([*launcher, worker, *arguments], user=None, **environment)
        if "is not in this build" in done.stderr:
            self.skipTest("libfabric is not in this build")
        return done

    def test_floods(self) -> None:
        for conduit in (MEMORY, TCP):
            for ranks, threads, calls in LONG_FLOODS if LONG else FLOODS:
                with self.subTest(conduit=conduit, ranks=ranks, threads=threads):
                    done = self.job(ranks, conduit, "flood", str(threads), str(calls))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_flood_with_few_credits_and_small_rings(self) -> None:
        for conduit in (MEMORY, TCP):
            done = self.job(4, conduit | SCARCE, "flood", "2", "100")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_survivors_of_a_death_are_told(self) -> None:
        for conduit in (MEMORY, TCP):
            for ranks in (2, 4):
                done = self.job(ranks, conduit, "death", keep_going=True)
                self.assertIn("SIGKILL", done.stderr)
                self.assertEqual(done.stderr.count(f"exited with code {PEER_DIED}"), ranks - 1, done.stderr)

    def test_four_rings_serve_sixteen_callers(self) -> None:
        for conduit in (MEMORY, TCP):
            done = self.job(17, conduit | {"OMPL_CALL_MEMORY": "50K"}, "flood", "1", "6")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_caller_without_a_ring_outlives_the_one_that_had_it(self) -> None:
        for conduit in (MEMORY, TCP):
            done = self.job(3, conduit | {"OMPL_CALL_MEMORY": "1"}, "rings", keep_going=True)
            self.assertEqual(done.stderr.count(f"exited with code {PEER_DIED}"), 2, done.stderr)

    def test_an_exception_that_nobody_is_told_of_ends_the_job(self) -> None:
        done = self.job(2, MEMORY, "throws")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the_one_that_throws", done.stderr)
        self.assertIn("no such thing", done.stderr)


if __name__ == "__main__":
    Options.build = Path(sys.argv[1])
    run_tests()

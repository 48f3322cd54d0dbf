#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The progress thread in whole jobs: progress.py BUILD_DIR. Ranks that compute outside the library are asked for
everything, through memory and over TCP; ranks die, fork, exit and end the job meanwhile."""

import subprocess
import sys
import unittest
from pathlib import Path

from faults import JOB_LIMIT_S, PEER_DIED, Options, omplrun, run, run_tests

MEMORY = {"OMPL_CONDUITS": "self,shm"}
OFI = {"OMPL_CONDUITS": "self,ofi"}
TCP = {"OMPL_CONDUITS": "self,tcp"}
UCX = {"OMPL_CONDUITS": "self,ucx", "UCX_TLS": "tcp,self"}
CONDUITS = (MEMORY, TCP, OFI, UCX)
ONE_ENDPOINT = {"OMPL_ENDPOINTS": "1"}
EXITS = 5


class Progress(unittest.TestCase):
    def job(
        self, ranks: int, environment: dict[str, str], task: str, keep_going: bool = False
    ) -> subprocess.CompletedProcess[str]:
        worker = str(Options.build / "bin/tests/progress_worker")
        options = ["--keep-going"] if keep_going else []
        launcher = omplrun("--timeout", str(JOB_LIMIT_S), *options, "-n", str(ranks))
        return run([*launcher, worker, task], user=None, **({"OMPL_PROGRESS": "thread"} | environment))

    def each(self, task: str, ranks: int, keep_going: bool = False) -> list[subprocess.CompletedProcess[str]]:
        """The task over each conduit that is in this build."""
        found = []
        for conduit in CONDUITS:
            with self.subTest(conduit=conduit["OMPL_CONDUITS"]):
                done = self.job(ranks, conduit, task, keep_going)
                if "is not in this build" not in done.stderr:
                    found.append(done)
        return found

    def test_ranks_that_compute_are_served(self) -> None:
        for ranks in (2, 3):
            for done in self.each("serve", ranks):
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_endpoint_is_enough(self) -> None:
        for conduit in CONDUITS:
            done = self.job(3, conduit | ONE_ENDPOINT, "serve")
            if "is not in this build" not in done.stderr:
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_rank_that_computes_serves_after_a_death(self) -> None:
        for done in self.each("death", 3, keep_going=True):
            self.assertIn("SIGKILL", done.stderr)
            self.assertEqual(done.stderr.count(f"exited with code {PEER_DIED}"), 2, done.stderr)

    def test_a_rank_exits_without_finalize(self) -> None:
        for task in ("exit", "exit-in-function"):
            for done in self.each(task, 2, keep_going=True):
                self.assertIn(f"exited with code {EXITS}", done.stderr)
                self.assertIn(f"exited with code {PEER_DIED}", done.stderr)

    def test_the_child_of_a_fork_has_no_thread(self) -> None:
        for done in self.each("fork", 2):
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_rank_ends_the_job(self) -> None:
        for done in self.each("job-exit", 3):
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    Options.build = Path(sys.argv[1])
    run_tests()

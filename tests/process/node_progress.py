#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Progress mode node with processes: node_progress.py BUILD_DIR. What the progress thread of a node does for ranks that
compute; memory that it may not read; its death, and a member's, at any moment."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from faults import JOB_LIMIT_S, NOBODY, PEER_DIED, Options, omplrun, run, run_tests

RANKS = 3
KILLS = 4


class NodeProgress(unittest.TestCase):
    def job(
        self,
        *arguments: str,
        user: int | None = None,
        nodes: str | None = None,
        ranks: int = RANKS,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        worker = str(Options.build / "bin/tests/node_progress_worker")
        places = [] if nodes is None else ["--node-of", nodes]
        launcher = omplrun("--keep-going", "--timeout", str(JOB_LIMIT_S), *places, "-n", str(ranks))
        return run([*launcher, worker, *arguments], user=user, OMPL_LOG="info", **environment)

    def test_sums_come_while_nobody_calls(self) -> None:
        done = self.job("serve")
        said = done.stdout + done.stderr
        if "cannot read the memory" in said:
            self.skipTest("the kernel does not let a process read another one's memory here")
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(done.stdout.count("was served"), RANKS, said)
        self.assertEqual(said.count("the node's progress thread gets processor"), 1, said)

    def test_a_progress_thread_without_work_sleeps(self) -> None:
        done = self.job("idle")
        self.assertEqual(done.stdout.count("lets its progress thread sleep"), RANKS, done.stdout + done.stderr)
        self.assertNotIn("not: ", done.stdout, done.stderr)

    def between_nodes(self, nodes: str, *arguments: str) -> str:
        ranks = len(nodes.split(","))
        done = self.job(*arguments, nodes=nodes, ranks=ranks, OMPL_CONDUITS="self,shm,ofi")
        said = done.stdout + done.stderr
        if "is not in this build" in said:
            self.skipTest("libfabric is not in this build")
        if "cannot read the memory" in said:
            self.skipTest("the kernel does not let a process read another one's memory here")
        self.assertEqual(done.returncode, 0, said)
        return said

    def test_sums_of_two_nodes_come_while_nobody_calls(self) -> None:
        said = self.between_nodes("0,0,1,1", "serve")
        self.assertEqual(said.count("was served"), 4, said)
        self.assertEqual(said.count("the node's progress thread gets processor"), 2, said)

    def test_a_rank_alone_on_its_node_serves_itself(self) -> None:
        said = self.between_nodes("0,1", "serve")
        self.assertEqual(said.count("was served"), 2, said)

    def test_a_progress_thread_of_two_nodes_sleeps_without_work(self) -> None:
        said = self.between_nodes("0,0,1,1", "idle")
        self.assertEqual(said.count("lets its progress thread sleep"), 4, said)
        self.assertNotIn("not: ", said)

    def test_who_sends_to_another_node_itself_calls_itself(self) -> None:
        said = self.between_nodes("0,0,1", "hide", "none")
        self.assertEqual(said.count("has the sums"), 3, said)

    @unittest.skipIf(os.geteuid() != 0, "only root can take privileges away")
    def test_a_rank_that_hides_its_memory_calls_itself(self) -> None:
        done = self.job("hide", "1", user=NOBODY)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(done.stdout.count("has the sums"), RANKS, said)
        self.assertRegex(said, r"rank 0: cannot read the memory of rank 1 \(.+\)")

    def all_learn_of_it(self, task: str, victim: int) -> None:
        done = self.job(task, str(victim))
        said = done.stdout + done.stderr
        self.assertEqual(done.stdout.count("has learnt of it"), RANKS - 1, said)
        self.assertEqual(said.count(f"exited with code {PEER_DIED}"), RANKS - 1, said)

    def test_the_progress_threads_process_dies(self) -> None:
        self.all_learn_of_it("absent", 0)
        for _ in range(KILLS):
            self.all_learn_of_it("kill", 0)

    def test_a_member_dies_and_the_progress_thread_goes_on(self) -> None:
        self.all_learn_of_it("absent", 2)
        for _ in range(KILLS):
            self.all_learn_of_it("kill", 2)


if __name__ == "__main__":
    Options.build = Path(sys.argv.pop()).resolve()
    run_tests(*sys.argv[1:])

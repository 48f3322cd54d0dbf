#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A rank ends in the middle of halo exchanges: halo_faults.py BUILD_DIR. By every strategy of the layer, through shared
memory and as two nodes over a network; all others learn of it from every call, asleep or polling, and nobody hangs."""

import re
import sys
import unittest
from pathlib import Path

from faults import JOB_LIMIT_S, PEER_DIED, Options, omplrun, run, run_tests

STRATEGIES = {"double-buffer": 0, "single": 1, "acked": 2, "auto": 7}
TRIAL = 36  # exchanges in which `auto` tries its three ways; it decides at the next
RANKS = 4
# How the others complete an exchange, how rank 0 ends, and at which exchange.
ENDS = (("wait", "kill", "random"), ("wait", "exit", "5"), ("test", "kill", "5"), ("some", "kill", str(TRIAL)))


class HaloFaults(unittest.TestCase):
    def all_learn_of_it(self, *options: str, conduits: str) -> None:
        job = omplrun("--keep-going", "--timeout", str(JOB_LIMIT_S), "-n", str(RANKS), *options)
        worker = str(Options.build / "bin/tests/halo_fault_worker")
        for name, number in STRATEGIES.items():
            for end in ENDS:
                with self.subTest(strategy=name, end=end):
                    done = run([*job, worker, str(number), *end], OMPL_CONDUITS=conduits)
                    said = done.stdout + done.stderr
                    if "is not in this build" in said:
                        self.skipTest("libfabric is not in this build")
                    self.assertEqual(said.count("has learnt of it"), RANKS - 1, said)
                    self.assertEqual(said.count(f"exited with code {PEER_DIED}"), RANKS - 1, said)
                    # Who has learnt of it ends, and over sockets a rank without a link to 0 may hear of that end first.
                    hearers = set(re.findall(r"ompl\[(\d+)\] error: rank \d+ died: ", said))
                    self.assertEqual(hearers, {str(rank) for rank in range(1, RANKS)}, said)
                    self.assertIn("error: rank 0 died: ", said)

    def test_through_shared_memory(self) -> None:
        self.all_learn_of_it(conduits="self,shm")

    def test_over_a_network(self) -> None:
        for conduits in ("self,tcp", "self,ofi"):
            with self.subTest(conduits=conduits):
                self.all_learn_of_it("--node-of", "0,1,0,1", conduits=conduits)


if __name__ == "__main__":
    Options.build = Path(sys.argv.pop()).resolve()
    run_tests(*sys.argv[1:])

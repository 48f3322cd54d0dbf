#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The layer beside MPI in the same processes: over each conduit, in each order of start and of end.

mpi_beside_test.py NAME BUILD_DIR [--prefix PREFIX] [--minute]

NAME and PREFIX as in launcher_test.py. mpi_beside.c is compiled with the MPI's mpicc; its ranks check all that they
receive. --minute: that long with each conduit and number of ranks, and nothing else."""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from launcher_test import Mpi, find_mpi_or_skip, leftovers, remove_orphans

LIMIT_S = 240.0  # beyond the time that is asked for
CONDUITS = {  # settings, network; the MPI may use either library itself
    "shm": ({"OMPL_CONDUITS": "self,shm"}, "none"),
    "tcp": ({"OMPL_CONDUITS": "self,tcp", "OMPL_ENDPOINTS": "2"}, "tcp"),
    "ofi": ({"OMPL_CONDUITS": "self,ofi", "OMPL_ENDPOINTS": "2"}, "ofi"),
    "ucx": ({"OMPL_CONDUITS": "self,ucx", "OMPL_ENDPOINTS": "2"}, "ucx"),
    "mpi": ({"OMPL_CONDUITS": "self,mpi", "OMPL_ENDPOINTS": "2"}, "mpi"),
}
BRIEF_S = 0.2
LENGTHS = 10  # of messages, all of which every thread has checked

MPI: Mpi
ARGUMENTS: argparse.Namespace
PROGRAM = ""


def compile_program(source: Path, target: str) -> None:
    library = ARGUMENTS.build / "lib"
    include = source.parents[3] / "include"
    command = [MPI.mpicc, "-O2", "-Wall", "-Wextra", f"-I{include}", "-o", target, str(source)]
    command += [f"-L{library}", "-lomnipgas", f"-Wl,-rpath,{library}", "-lpthread"]
    subprocess.run(command, timeout=LIMIT_S, check=True)


def conduits() -> list[str]:
    """All that this MPI can do with: the mpi conduit refuses Open MPI 4."""
    return [name for name in CONDUITS if name != "mpi" or ARGUMENTS.name != "openmpi"]


class Beside(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(lambda before: remove_orphans(leftovers() - before), leftovers())

    def start(
        self, conduit: str, ranks: int, seconds: float, threads: int, start: str, end: str
    ) -> "subprocess.CompletedProcess[str]":
        command = [*MPI.launchers[0].command, "-n", str(ranks), PROGRAM]
        command += [str(seconds), str(threads), start, end]
        done = subprocess.run(
            command,
            env={**os.environ, "OMPL_LOG": "info", **CONDUITS[conduit][0]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds + LIMIT_S,
            check=False,
        )
        if skipped := re.search(r"skipped: (.*)", done.stdout):
            self.skipTest(skipped[1])
        if "in this libfabric" in done.stderr or "libfabric cannot be loaded" in done.stderr:
            self.skipTest("libfabric is not here, or has no TCP")
        if "UCX cannot be loaded" in done.stderr or "ucx of OMPL_CONDUITS is not in this build" in done.stderr:
            self.skipTest("UCX is not here")
        if "was built without" in done.stderr:
            self.skipTest("PMIx's headers were not there when this was built")
        return done

    def job(self, conduit: str, ranks: int, seconds: float, threads: int, start: str, end: str) -> None:
        """Runs a job in which every thread checks messages of all lengths, as many on each rank, and nothing fails."""
        with self.subTest(conduit=conduit, ranks=ranks, start=start, end=end):
            done = self.start(conduit, ranks, seconds, threads, start, end)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(re.findall(r"ompl\S* (?:error|warning): .*", done.stderr), [])
            network = CONDUITS[conduit][1]
            self.assertEqual(re.findall(r"; network: (\w+)", done.stderr), [network] * ranks, done.stderr)
            told = re.findall(r"rank (\d+) of (\d+) checked mpi ([\d ]+) ompl ([\d ]+)$", done.stdout, re.M)
            expected = [(str(rank), str(ranks)) for rank in range(ranks)]
            self.assertEqual(sorted((rank, of) for rank, of, _, _ in told), expected, done.stdout)
            self.assertEqual(len({(mpi, ompl) for _, _, mpi, ompl in told}), 1, done.stdout)
            counts = [int(count) for count in f"{told[0][2]} {told[0][3]}".split()]
            self.assertEqual(len(counts), 2 * threads)
            self.assertGreaterEqual(min(counts), LENGTHS, done.stdout)
            print(f"{conduit}, {ranks} ranks: mpi {told[0][2]}, ompl {told[0][3]}", flush=True)

    # Not of the mpi conduit, which needs MPI from before its start to after its end.
    def every_order(self, conduit: str) -> None:
        for start in ("mpi", "ompl") if MPI.may_come_later else ("mpi",):
            for end in ("mpi", "ompl", "both"):
                self.job(conduit, 3, BRIEF_S, 2, start, end)


class Brief(Beside):
    def test_side_by_side(self) -> None:
        for conduit in conduits():
            for ranks in (2, 3):
                self.job(conduit, ranks, 1.0, 2, "mpi", "ompl")

    def test_every_order_of_start_and_end(self) -> None:
        self.every_order("shm")

    def test_an_order_that_cannot_be_is_refused_in_one_line(self) -> None:
        if MPI.may_come_later:
            self.skipTest("this MPI may come later")
        done = self.start("shm", 2, BRIEF_S, 2, "ompl", "ompl")
        self.assertNotEqual(done.returncode, 0)
        said = re.findall(r"ompl\S* error: (.*)", done.stderr)
        self.assertTrue(said, done.stderr)
        for line in said:
            self.assertIn("call MPI_Init before ompl_init", line)

    def test_a_launcher_that_this_mpi_does_not_speak_with_is_a_warning(self) -> None:
        if not ARGUMENTS.name.startswith("openmpi"):
            self.skipTest("this MPI speaks PMI-1, as omplrun does")
        command = [str(ARGUMENTS.build / "bin/omplrun"), "-n", "2", "--timeout", "200", PROGRAM]
        done = subprocess.run(
            [*command, str(BRIEF_S), "1", "mpi", "ompl"], env=os.environ | {"OMPL_CONDUITS": "self,shm"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        said = re.findall(r"warning: the launcher started 2 processes, but MPI_COMM_WORLD has one rank", done.stderr)
        self.assertEqual(len(said), 2, done.stderr + done.stdout)


class Minute(Beside):
    def test_side_by_side_for_a_minute(self) -> None:
        for conduit in conduits():
            self.job(conduit, 3, 60.0, 3, "mpi", "ompl")

    def test_every_order_of_start_and_end_over_networks(self) -> None:
        for conduit in ("tcp", "ofi", "ucx"):
            self.every_order(conduit)


def main() -> None:
    global ARGUMENTS, MPI, PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--minute", action="store_true")
    ARGUMENTS = parser.parse_args()
    MPI = find_mpi_or_skip(ARGUMENTS.name, ARGUMENTS.prefix)
    signal.alarm(1700 if ARGUMENTS.minute else 580)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        PROGRAM = f"{folder}/mpi_beside"
        compile_program(Path(__file__).parent / "programs/mpi_beside.c", PROGRAM)
        case = "Minute" if ARGUMENTS.minute else "Brief"
        program = unittest.main(argv=sys.argv[:1], defaultTest=case, verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

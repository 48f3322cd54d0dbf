#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Halo exchange by every strategy, those of MPI among them, in jobs of each MPI.

halo_mpi_test.py NAME BUILD_DIR [--prefix PREFIX]

NAME and PREFIX as in launcher_test.py. halo_job.c is compiled with the MPI's mpicc; its ranks check what they hear."""

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

LIMIT_S = 240.0
STRATEGIES = ["double-buffer", "single", "acked", "mpi", "mpi-persistent", "mpi-neighbor", "mpi-put"]

MPI: Mpi
PROGRAM = ""


def compile_program(source: Path, build: Path, target: str) -> None:
    command = [MPI.mpicc, "-O2", "-Wall", "-Wextra", "-DHALO_MPI", f"-I{source.parents[3]}/include"]
    command += ["-o", target, str(source), f"-L{build}/lib", "-lomnipgas", f"-Wl,-rpath,{build}/lib"]
    subprocess.run(command, timeout=LIMIT_S, check=True)


class Halo(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(lambda before: remove_orphans(leftovers() - before), leftovers())

    def job(self, ranks: int) -> None:
        with self.subTest(ranks=ranks):
            done = subprocess.run(
                [*MPI.launchers[0].command, "-n", str(ranks), PROGRAM],
                env={**os.environ, "OMPL_CONDUITS": "self,shm"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            table = re.findall(r"^([* ]) (\S+) +([\d.]+) us$", done.stdout, re.MULTILINE)
            names = [name for _, name, _ in table]
            self.assertEqual(names, STRATEGIES, done.stdout)
            (chosen,) = (float(us) for mark, _, us in table if mark == "*")
            self.assertEqual(chosen, min(float(us) for _, _, us in table), done.stdout)
            self.assertGreater(chosen, 0)
            print(f"{ranks} ranks:\n{done.stdout}", flush=True)

    def test_every_strategy(self) -> None:
        for ranks in (1, 2, 3):
            self.job(ranks)


def main() -> None:
    global MPI, PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    arguments = parser.parse_args()
    MPI = find_mpi_or_skip(arguments.name, arguments.prefix)
    signal.alarm(1700)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        PROGRAM = f"{folder}/halo_job"
        compile_program(Path(__file__).parent / "programs/halo_job.c", arguments.build, PROGRAM)
        program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

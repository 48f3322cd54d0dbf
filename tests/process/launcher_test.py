#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks started for real by mpiexec and by omplrun, alone and mixed with MPI in every order.

launcher_test.py NAME OMPLRUN BOOTSTRAP_RANKS STEPS_LIBRARY [PREFIX]

NAME is that of Debian's MPI (mpich, openmpi), or any for the MPI installed below PREFIX: "openmpi..."
does not speak PMI-1, "..._abi" has the binary interface that MPI 5.0 standardised. bootstrap_ranks is
compiled with the MPI's mpicc; its arguments are the steps that each rank does."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

LIMIT = 60.0
SKIP = 77
RANKS = 3


@dataclass(frozen=True)
class Mpi:
    mpiexec: list[str]
    mpicc: str
    speaks_pmi1: bool = True


MPI: Mpi
OMPLRUN, PLAIN_RANKS, MPI_RANKS = [""], "", ""


def find_mpi(name: str, prefix: str) -> Mpi | str:
    """The MPI of that name, or why there is none."""
    if prefix:
        mpiexec, mpicc = f"{prefix}/bin/mpiexec", f"{prefix}/bin/mpicc"
        mpicc += "_abi" if name.endswith("_abi") else ""
        os.environ["I_MPI_ROOT"] = prefix  # Intel's tools ask for it
    else:
        mpiexec, mpicc = f"mpiexec.{name}", f"mpicc.{name}"
    for tool in (mpiexec, mpicc):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    is_open_mpi = name.startswith("openmpi")
    options = ["--allow-run-as-root", "--oversubscribe"] if is_open_mpi else []
    return Mpi([mpiexec, *options], mpicc, not is_open_mpi)


def compile_ranks(mpicc: str, steps: Path, target: str) -> None:
    source = str(Path(__file__).with_name("bootstrap_ranks.c"))
    command = [mpicc, "-Wall", "-Wextra", "-DWITH_MPI", "-o", target, source, str(steps)]
    subprocess.run([*command, f"-Wl,-rpath,{steps.parent}"], timeout=LIMIT, check=True)


class Launcher(unittest.TestCase):
    def job(self, launcher: list[str], program: str, steps: str, **variables: str) -> str:
        """Runs a job that must succeed; its standard output."""
        done = subprocess.run(
            [*launcher, "-n", str(RANKS), program, *steps.split()],
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, f"{steps}\n{done.stdout}{done.stderr}")
        return done.stdout

    def assert_ranks(self, output: str, by: str, nodes: str) -> None:
        """Every rank has shown itself once, with this bootstrap and these nodes."""
        shown = re.findall(r"rank (\d+) of (\d+) by (\w+), nodes ([\d,]*)", output)
        expected = [(str(rank), str(RANKS), by, nodes) for rank in range(RANKS)]
        self.assertEqual(sorted(shown), expected)

    def launchers(self) -> list[list[str]]:
        """Those that speak PMI-1."""
        return [MPI.mpiexec, OMPLRUN] if MPI.speaks_pmi1 else []

    def test_without_mpi(self) -> None:
        for launcher in self.launchers():
            with self.subTest(launcher):
                output = self.job(launcher, PLAIN_RANKS, "open exchange show finish")
                self.assert_ranks(output, "pmi1", "0,0,0")

    def test_through_a_running_mpi(self) -> None:
        # MPI knows how to talk to its launcher. (omplrun is none for Open MPI.)
        for launcher in [MPI.mpiexec, *self.launchers()]:
            for steps in (
                "init open exchange show finish barrier finalize",
                "init open exchange show barrier finalize finish",
            ):
                with self.subTest(launcher, steps=steps):
                    self.assert_ranks(self.job(launcher, MPI_RANKS, steps), "mpi", "")

    def test_before_mpi_and_beside_it(self) -> None:
        # finish() must leave the launcher's connection usable for an MPI that comes later, and must not
        # wait for the launcher when MPI has ended the connection.
        for launcher in self.launchers():
            for steps in (
                "open exchange show finish",
                "open exchange show finish init barrier finalize",
                "open exchange show init barrier finish barrier finalize",
                "open exchange show init barrier finalize finish",
                "open init exchange barrier show finish finalize",
            ):
                with self.subTest(launcher, steps=steps):
                    self.assert_ranks(self.job(launcher, MPI_RANKS, steps), "pmi1", "0,0,0")

    def test_abort_ends_the_job(self) -> None:
        cases = [(MPI.mpiexec, MPI_RANKS, "init open exchange abort:9")]
        cases += [(launcher, PLAIN_RANKS, "open exchange abort:9") for launcher in self.launchers()]
        for launcher, program, steps in cases:
            with self.subTest(launcher, steps=steps):
                done = subprocess.run(
                    [*launcher, "-n", str(RANKS), program, *steps.split()],
                    capture_output=True,
                    text=True,
                    timeout=LIMIT,
                    check=False,
                )
                self.assertEqual(done.returncode, 9, done.stderr)
                if launcher is OMPLRUN:  # Hydra 5 may lose a rank's last line
                    self.assertIn("the test wants it", done.stderr)

    def test_open_mpi_without_mpi_init_is_refused(self) -> None:
        if MPI.speaks_pmi1:
            self.skipTest("this launcher speaks PMI-1")
        done = subprocess.run(
            [*MPI.mpiexec, "-n", "2", PLAIN_RANKS, "open"],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Call MPI_Init before ompl_init", done.stderr)


def main(name: str, omplrun: str, ranks: str, steps: str, prefix: str = "") -> None:
    global MPI, OMPLRUN, PLAIN_RANKS, MPI_RANKS
    found = find_mpi(name, prefix)
    if isinstance(found, str):
        print(f"skipped: {found}")
        sys.exit(SKIP)
    signal.alarm(int(2 * LIMIT))
    with tempfile.TemporaryDirectory() as folder:
        MPI, OMPLRUN, PLAIN_RANKS, MPI_RANKS = found, [omplrun], ranks, f"{folder}/mpi_ranks"
        compile_ranks(found.mpicc, Path(steps), MPI_RANKS)
        program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main(*sys.argv[1:])

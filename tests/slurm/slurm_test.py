#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks started by srun over PMI-1 and PMIx, on one node and on two, and srun without either.

slurm_test.py BIN_DIR"""

import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import rig

SKIP = 77
LIMIT = 580
# What --mpi is called, and the bootstrap that it leads to.
PROTOCOLS = {"pmi2": "pmi1", "pmix": "pmix"}
# Where the ranks 0 to 2 of a job are on so many nodes.
NODES_OF_THREE = {1: "0,0,0", 2: "0,0,1"}

SLURM: rig.Slurm
BIN = Path()


def srun(mpi: str, nodes: int, ranks: int, *command: str) -> "subprocess.CompletedProcess[str]":
    options = [f"--mpi={mpi}", f"--nodes={nodes}", f"--ntasks={ranks}", "--kill-on-bad-exit=1"]
    # The nodes of this host reach each other by its loopback.
    return SLURM.run("srun", *options, *command, OMPL_NET_INTERFACE="lo")


def steps(mpi: str, nodes: int, ranks: int, line: str) -> "subprocess.CompletedProcess[str]":
    done = srun(mpi, nodes, ranks, f"{BIN}/tests/bootstrap_ranks", *line.split())
    if "was built without" in done.stderr:
        raise unittest.SkipTest("PMIx's headers were not there when this was built")
    return done


class Srun(unittest.TestCase):
    def assert_each(self, expected: list[str], output: str) -> None:
        self.assertEqual(sorted(expected), sorted(output.splitlines()))

    def test_ranks_meet(self) -> None:
        for mpi, bootstrap in PROTOCOLS.items():
            for nodes, layout in NODES_OF_THREE.items():
                with self.subTest(mpi=mpi, nodes=nodes):
                    done = steps(mpi, nodes, 3, "open exchange miss show finish")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    expected = [f"rank {r} of 3 by {bootstrap}, nodes {layout}" for r in range(3)]
                    self.assert_each(expected, done.stdout)

    def test_one_node_shares_memory_and_two_use_the_network(self) -> None:
        for mpi in PROTOCOLS:
            for nodes, reached in {1: ["self", "shm"], 2: ["self", "tcp"]}.items():
                with self.subTest(mpi=mpi, nodes=nodes):
                    why = srun(mpi, nodes, 2, f"{BIN}/ompl-info", "--why")
                    self.assertEqual(why.returncode, 0, why.stderr)
                    self.assertEqual(sorted(re.findall(r"rank \d: (\w+)", why.stdout)), sorted(2 * reached))

    def test_the_checks_know_the_job(self) -> None:
        look = f"{BIN}/ompl-info --check | grep 'environment: launcher'"
        for mpi, bootstrap in PROTOCOLS.items():
            for nodes, ranks in ((1, 2), (2, 1)):
                with self.subTest(mpi=mpi, nodes=nodes):
                    done = srun(mpi, nodes, 2, "sh", "-c", look)
                    if "was built without" in done.stdout:
                        continue
                    said = f"fine   environment: launcher +{bootstrap}: 2 rank\\(s\\), {ranks} on this node\n"
                    self.assertRegex(done.stdout, f"^(?:{said}){{2}}$", done.stderr)

    def test_a_whole_program(self) -> None:
        # A halo exchange by puts and signals, ended by a comparison with the exact solution.
        if not (BIN / "heat").exists():
            self.skipTest("the examples were not built")
        for mpi in PROTOCOLS:
            for nodes in (1, 2):
                with self.subTest(mpi=mpi, nodes=nodes):
                    done = srun(mpi, nodes, 4, f"{BIN}/heat", "200")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    ranks = re.findall(r"rank (\d): 200 steps, farthest from the exact", done.stdout)
                    self.assertEqual(sorted(ranks), ["0", "1", "2", "3"], done.stdout)

    def test_a_coarray_program(self) -> None:
        program = BIN / "tests/coarray_words"
        if not program.exists():
            self.skipTest("this build has no coarrays")
        for mpi in PROTOCOLS:
            for nodes in (1, 2):
                with self.subTest(mpi=mpi, nodes=nodes):
                    done = srun(mpi, nodes, 3, str(program))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_abort_ends_the_job(self) -> None:
        for mpi in PROTOCOLS:
            with self.subTest(mpi=mpi):
                done = steps(mpi, 2, 3, "open exchange abort:9")
                self.assertIn("the test wants it", done.stderr)
                if mpi == "pmix":
                    self.assertEqual(done.returncode, 9, done.stderr)
                self.assertNotEqual(done.returncode, 0)  # by pmi2 Slurm kills the ranks and drops the code

    def test_a_rank_that_dies_ends_the_job(self) -> None:
        for mpi in PROTOCOLS:
            with self.subTest(mpi=mpi):
                self.assertNotEqual(steps(mpi, 2, 3, "open exchange die:1:9").returncode, 0)

    def test_srun_without_pmi_says_so(self) -> None:
        done = steps("none", 1, 2, "open show")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")  # no rank took itself for the only one
        ours = [line for line in done.stderr.splitlines() if line.startswith("ompl error")]
        for line in ours:
            self.assertIn("(SLURM_STEP_NUM_TASKS) but offers no PMI; start with srun --mpi=pmix", line)
        self.assertIn(len(ours), (1, 2))  # the first rank to fail may end the other

    def test_single_processes_are_no_job(self) -> None:
        alone = "rank 0 of 1 by single, nodes 0"
        self.assert_each([alone], steps("none", 1, 1, "open exchange show finish").stdout)
        # The script of a batch job for two ranks: one process, with variables of both.
        command = f"{BIN}/tests/bootstrap_ranks open exchange show finish"
        output = SLURM.folder / "batch.out"
        done = SLURM.run("sbatch", "--wait", "--ntasks=2", f"--output={output}", f"--wrap={command}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_each([alone], output.read_text())

    def test_omplrun_within_a_job(self) -> None:
        command = f"{BIN}/omplrun --no-prefix -n 2 {BIN}/tests/bootstrap_ranks open exchange show finish"
        done = srun("none", 1, 1, *command.split())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_each([f"rank {r} of 2 by pmi1, nodes 0,0" for r in range(2)], done.stdout)


class WithMpi(unittest.TestCase):
    def ranks(self, name: str) -> str:
        """bootstrap_ranks, compiled with Debian's MPI of that name."""
        if shutil.which(f"mpicc.{name}") is None:
            self.skipTest(f"mpicc.{name} is not installed")
        target, library = SLURM.folder / f"{name}_ranks", BIN.parent / "lib/libbootstrap_steps.so"
        source = Path(__file__).parents[1] / "process/programs/bootstrap_ranks.c"
        command = [f"mpicc.{name}", "-DWITH_MPI", "-o", str(target), str(source), str(library)]
        command.append(f"-Wl,-rpath,{library.parent}")
        subprocess.run(command, timeout=240, check=True)
        return str(target)

    def test_mpi_first(self) -> None:
        line = "init open exchange show finish barrier finalize"
        for mpi, name in ("pmi2", "mpich"), ("pmix", "openmpi"):
            for nodes in NODES_OF_THREE:
                with self.subTest(mpi=mpi, nodes=nodes):
                    done = srun(mpi, nodes, 3, self.ranks(name), *line.split())
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout.count(" of 3 by mpi, nodes "), 3, done.stdout)

    def test_mpi_later(self) -> None:
        line = "open exchange show finish init barrier finalize"
        for nodes in NODES_OF_THREE:
            with self.subTest(nodes=nodes):
                done = srun("pmix", nodes, 3, self.ranks("openmpi"), *line.split())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count(" of 3 by pmix, nodes "), 3, done.stdout)

    def test_an_mpi_that_would_hang_later(self) -> None:
        # Slurm takes one PMI session of each rank, and MPICH would wait for ever to begin its own.
        done = srun("pmi2", 1, 2, self.ranks("mpich"), "open")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("call MPI_Init before ompl_init", done.stderr)


def main(folder: str) -> None:
    global SLURM, BIN
    if reason := rig.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)  # unittest lets only KeyboardInterrupt through
    signal.alarm(LIMIT)
    BIN = Path(folder).resolve()
    with rig.slurm() as SLURM:
        program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main(*sys.argv[1:])

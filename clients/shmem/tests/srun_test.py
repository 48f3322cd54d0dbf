#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""srun_test.py BUILD: oshrun starts PEs by Slurm's srun, on one node and on two. Skipped where there is no Slurm."""

import re
import signal
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests/slurm"))
import rig
from jobs import Jobs
from programs import HELLO

SKIP = 77
LIMIT_S = 580
PES = 3
NODES_SHARE = {"OMPL_NET_INTERFACE": "lo"}  # the nodes of this host reach each other by its loopback

SLURM: rig.Slurm


class Srun(Jobs):
    def assert_all_came(self, said: str) -> None:
        expected = [f"PE {pe} of {PES}: {(pe + 2) % PES}, 6" for pe in range(PES)]
        self.assertEqual(sorted(re.findall(r"PE \d of \d: .*", said)), expected, said)

    def test_oshrun_calls_srun(self) -> None:
        oshrun, program = str(self.build / "bin/oshrun"), str(self.compile(HELLO))
        for mpi in ("pmi2", "pmix"):
            for nodes in (1, 2):
                with self.subTest(mpi=mpi, nodes=nodes):
                    options = ["--launcher", "srun", f"--mpi={mpi}", f"--nodes={nodes}", "-np", str(PES)]
                    done = SLURM.run(oshrun, *options, program, **NODES_SHARE)
                    if "was built without" in done.stderr:
                        self.skipTest("PMIx's headers were not there when this was built")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assert_all_came(done.stdout)

    def test_an_allocation_of_several_nodes_is_used_by_srun(self) -> None:
        program = self.compile(HELLO)
        output = SLURM.folder / "batch.out"
        command = f"{self.build}/bin/oshrun --mpi=pmi2 -n {PES} {program}"
        options = ["--wait", "--nodes=2", f"--ntasks={PES}", f"--output={output}", f"--wrap={command}"]
        done = SLURM.run("sbatch", *options, **NODES_SHARE)
        said = output.read_text()
        self.assertEqual(done.returncode, 0, done.stderr + said)
        self.assert_all_came(said)

    def test_a_status_ends_the_job(self) -> None:
        (self.folder / "exits.c").write_text(
            "#include <shmem.h>\nint main(void) { shmem_init(); shmem_global_exit(3); }"
        )
        made = self.run_tool("oshcc", "exits.c", "-o", "exits")
        self.assertEqual(made.returncode, 0, made.stdout)
        oshrun = str(self.build / "bin/oshrun")
        options = ["--launcher", "srun", "--mpi=pmi2", "-n", "2"]
        done = SLURM.run(oshrun, *options, str(self.folder / "exits"), **NODES_SHARE)
        self.assertNotEqual(done.returncode, 0)


def main() -> None:
    global SLURM
    Jobs.build = Path(sys.argv[1]).resolve()
    if reason := rig.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)  # unittest lets only KeyboardInterrupt through
    signal.alarm(LIMIT_S)
    with rig.slurm() as SLURM:
        program = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

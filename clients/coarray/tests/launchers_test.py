#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""launchers_test.py PROGRAM OPENMPI5: a coarray program under the launchers of others that are here: Hydra (MPICH's
mpiexec), Open MPI's mpiexec, and the prterun of the Open MPI 5 in the folder OPENMPI5. Exit status 77 without any.
Slurm's srun is in tests/slurm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_S = 240
IMAGES = 3
SKIP = 77
ALLOWED = {f"{name}_ALLOW_RUN_AS_ROOT{end}": "1" for name in ("OMPI", "PRTE") for end in ("", "_CONFIRM")}


def found(openmpi5: Path) -> list[list[str]]:
    """What comes before the number of images."""
    commands = [
        ["mpiexec.mpich"], ["mpiexec.openmpi", "--oversubscribe"],
        [str(openmpi5 / "bin/prterun"), "--map-by", ":oversubscribe"],
    ]  # fmt: skip
    return [command for command in commands if shutil.which(command[0])]


def main() -> int:
    program, openmpi5 = sys.argv[1], Path(sys.argv[2])
    launchers = found(openmpi5)
    if not launchers:
        print("skipped: there is no mpiexec.mpich, mpiexec.openmpi or prterun")
        return SKIP
    bad = 0
    for launcher in launchers:
        command = [*launcher, "-n", str(IMAGES), program]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False,
            env=os.environ | ALLOWED | {"OMPL_CONDUITS": "self,shm"},
        )  # fmt: skip
        print(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}", end="")
        bad += done.returncode != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of XcalableMP share: where the Omni compiler is, how programs are compiled and started."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from suites import run

LIMIT_S = 300
SKIPPED = 77
TIME_IS_UP = (124, 137)  # exit statuses of timeout(1)
TRANSLATIONS = 5  # of a program at most


@dataclass
class Omni:
    """The compiler, and the libraries of this build that stand in for parts of its runtime."""

    prefix: Path
    build: Path
    plain: bool = False  # as the compiler is, over MPI-3

    def compile(self, sources: Sequence[Path], program: Path, tasks: bool = False) -> tuple[int, str]:
        """Compiles XMP/C; `tasks`: tasklets run by this project's tasks."""
        libraries = self.build / "lib"
        names = [] if self.plain else [*(["-lomnipgas-xmp-tasklet"] if tasks else []), "-lomnipgas-xmp"]
        ours = [] if self.plain else [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed"]
        openmp = ["-omp"] if tasks else []
        # Its parser does not know attributes of GCC 11, which glibc's stdlib.h has for compilers that do.
        older = ["--Wp-U__GNUC__", "--Wp-D__GNUC__=10"]
        command: list[str | Path] = [self.prefix / "bin/xmpcc", *older, *openmp, "-o", program, *sources, *ours, *names]
        # Its translator, run by Java 17, loses a type now and then; less often with these.
        java = "-XX:+UseSerialGC -Xmx1g -XX:SoftRefLRUPolicyMSPerMB=100000"
        for _ in range(TRANSLATIONS):
            status, text = run([*command, "-lm"], LIMIT_S, program.parent, _JAVA_OPTIONS=java)
            if "XmTranslationException" not in text:
                break
        return status, text

    def execute(
        self, program: Path, ranks: int, conduits: str, *options: str, **environment: str
    ) -> tuple[int, str]:
        """Starts a program by the launcher of the compiler's MPI, with its options."""
        launcher = os.environ.get("OMPL_OMNI_MPIEXEC") or shutil.which("mpiexec.mpich") or "mpiexec"
        command = ["timeout", "-k", "10", str(LIMIT_S), launcher, *options, "-n", str(ranks)]
        settings = {"OMPL_CONDUITS": conduits, **environment}
        return run([*command, f"./{program.name}"], LIMIT_S, program.parent, **settings)


def why_not(omni: Omni) -> str:
    """Why nothing can be tried; empty if it can."""
    if not str(omni.prefix) or not (omni.prefix / "bin/xmpcc").exists():
        return f"no xmpcc in '{omni.prefix}/bin': set OMPL_OMNI_PREFIX to where the Omni compiler is installed"
    if not (omni.build / "lib/libomnipgas-xmp.so").exists():
        return "libomnipgas-xmp is not built: set OMPL_OMNI_SOURCE to the source of the Omni compiler"
    return ""

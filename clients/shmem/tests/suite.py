#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite.py BUILD SUITE [--pes N...] [--conduits LIST...] [--only NAME...] [--limit SECONDS]: builds the programs of
Sandia's OpenSHMEM tests (the folder SUITE, from https://github.com/openshmem-org/tests-sos) with oshcc and runs each
over each list of conduits with each number of PEs.

Prints a line for each program and a table of counts. Exit status 1 if a program cannot be built or fails; 77 if the
suite is not there. NOT_TRIED names programs that are left out, and why.
"""

import argparse
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import suites
from suites import Outcome, Program, run

LIMIT_S = 240

# What is not tried, and why.
NOT_TRIED = {
    "complex_reductions_f": "Fortran, which OpenSHMEM 1.5 removed",
    "hello_f": "Fortran, which OpenSHMEM 1.5 removed",
    "set_fetch_f": "Fortran, which OpenSHMEM 1.5 removed",
    "shmem_info_f": "Fortran, which OpenSHMEM 1.5 removed",
}
# Programs that are built from other files than their own, or with options.
VARIANTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rma_coverage_pshmem": (("rma_coverage.c",), ("-DTEST_PSHMEM",)),
    "query_thread_funneled": (("query_thread.c",), ("-DENABLE_THREADS",)),
    "mt_lock_test": (("mt_lock_test.c", "mt_lock.c"), ()),
    "shmem_ctx": (("shmem_ctx.c",), ("-fopenmp",)),
}
# MPI programs too: compiled and started by MPICH's tools, if those are there.
HYBRID = ("hybrid_mpi_mapping_id", "hybrid_mpi_mapping_id_shmem_comm")
PARTS = {"unit": "unit programs", "spec-example": "examples", "apps": "applications"}


def programs(suite: Path) -> Iterator[Program]:
    """Every program of the suite."""
    for part in PARTS:
        folder = suite / "test" / part
        names = {path.stem for path in folder.iterdir() if path.suffix in (".c", ".cpp", ".f90")}
        helpers = {"mt_lock"}
        extra = {name for name, (files, _) in VARIANTS.items() if all((folder / file).exists() for file in files)}
        for name in sorted((names | extra) - helpers):
            files, options = VARIANTS.get(name, ((), ()))
            sources = [folder / file for file in files] or [
                path for path in sorted(folder.glob(f"{name}.*")) if path.suffix in (".c", ".cpp", ".f90")
            ]
            yield Program(part, name, sources, options)


def build(program: Program, tools: Path, suite: Path, scratch: Path) -> Outcome:
    """Compiles a program, unless it is not to be tried."""
    if program.name in NOT_TRIED:
        return Outcome(program, "not tried", NOT_TRIED[program.name])
    if program.name in HYBRID and not shutil.which("mpicc.mpich"):
        return Outcome(program, "not tried", "an MPI program, and MPICH is not installed")
    compiler = tools / ("oshc++" if program.sources[0].suffix == ".cpp" else "oshcc")
    target = scratch / f"{program.part}-{program.name}"
    status, text = run(
        [compiler, *program.options, "-w", "-O1", "-pthread", f"-I{suite}/test/include",
         *program.sources, "-o", target, "-lm"], LIMIT_S, None,
        **({"OSHCC_CC": "mpicc.mpich"} if program.name in HYBRID else {}),
    )  # fmt: skip
    return Outcome(program, "built" if status == 0 else "not built", text)


def execute(outcome: Outcome, tools: Path, scratch: Path, pes: int, limit_s: int) -> Outcome:
    """Runs a program that was built."""
    if outcome.state != "built":
        return outcome
    program = outcome.program
    target = scratch / f"{program.part}-{program.name}"
    launcher: list[str | Path] = [tools / "oshrun", "--timeout", str(limit_s)]
    if program.name in HYBRID:
        launcher = ["mpiexec.mpich"]
    status, text = run([*launcher, "-n", str(pes), target], LIMIT_S)
    return Outcome(program, "passed" if status == 0 else "failed", f"exit status {status}\n{text}")


def main() -> int:
    """Builds and runs them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("suite", type=Path, nargs="?", default=Path())
    parser.add_argument("--pes", type=int, nargs="+", default=[2])
    parser.add_argument("--conduits", nargs="+", default=["self,shm"])
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds for a program")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    if not (options.suite / "test/unit").is_dir():
        print(f"skipped: no OpenSHMEM suite at '{options.suite}': set OMPL_SHMEM_SUITE to a clone of tests-sos")
        return 77
    tools = options.build.resolve() / "bin"
    chosen = [each for each in programs(options.suite) if not options.only or each.name in options.only]
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        built = suites.build_all(chosen, lambda program: build(program, tools, options.suite, scratch))
        for conduits, pes in itertools.product(options.conduits, options.pes):
            os.environ["OMPL_CONDUITS"] = conduits
            execution = partial(execute, tools=tools, scratch=scratch, pes=pes, limit_s=options.limit)
            outcomes = suites.execute_all(built, execution)
            print(f"{conduits}, {pes} PEs")
            suites.table(outcomes, PARTS)
            bad = bad or suites.is_bad(outcomes)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

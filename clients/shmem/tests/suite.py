#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite.py BUILD SUITE [OPTIONS]: builds the programs of Sandia's OpenSHMEM tests (the folder SUITE, from
https://github.com/openshmem-org/tests-sos) with oshcc and runs each over each list of conduits with each number of PEs.

Prints a line for each program and a table of counts. Exit status 1 if a program cannot be built or fails; 77 if the
suite is not there, or --hosts cannot be had. NOT_TRIED names programs that are left out, and why.
"""

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[3] / "tests/net")]
import launchers
import network
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


Start = Callable[[int, Path], list[str]]  # number of PEs, program -> the command that starts them


def execute(outcome: Outcome, start: Start, scratch: Path, pes: int, options: argparse.Namespace) -> Outcome:
    """Runs a program that was built."""
    if outcome.state != "built":
        return outcome
    program = outcome.program
    target = scratch / f"{program.part}-{program.name}"
    command = start(pes, target)
    if program.name in HYBRID:
        if options.hosts:
            return Outcome(program, "not tried", "an MPI program, which MPICH starts on one host")
        command = ["mpiexec.mpich", "-n", str(pes), str(target)]
    began = time.monotonic()
    status, text = run(command, options.limit)
    seconds = time.monotonic() - began
    return Outcome(program, "passed" if status == 0 else "failed", f"exit status {status}, {seconds:.0f} s\n{text}")


def starter(stack: ExitStack, options: argparse.Namespace) -> Start:
    """How PEs are started: all here, or each on a host of its own, a namespace that goes with the stack."""
    tools, limit = options.build.resolve() / "bin", ["--timeout", str(options.limit)]
    if not options.hosts:
        return lambda pes, program: [str(tools / "oshrun"), *limit, "-n", str(pes), str(program)]
    network.remove_leftovers()
    made = stack.enter_context(network.network(max(options.pes)))
    network.enter(made.hub)
    own = ["--no-prefix", *limit]
    launcher = stack.enter_context(launchers.launcher("omplrun", str(tools / "omplrun"), own))
    return lambda pes, program: launcher.command(made.name, pes, pes, [str(program)])


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("suite", type=Path, nargs="?", default=Path())
    parser.add_argument("--pes", type=int, nargs="+", default=[2])
    parser.add_argument("--conduits", nargs="+", default=["self,shm"], help="lists, as of OMPL_CONDUITS")
    parser.add_argument("--progress", choices=("none", "thread", "auto"), help="OMPL_PROGRESS; default: not set")
    parser.add_argument("--hosts", action="store_true", help="each PE on a host of its own, a network namespace")
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds for a program; default %(default)s")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these programs alone")
    return parser.parse_args()


def run_all(options: argparse.Namespace, scratch: Path, stack: ExitStack) -> bool:
    """Builds and runs them; whether all that was tried passed."""
    tools = options.build.resolve() / "bin"
    chosen = [each for each in programs(options.suite) if not options.only or each.name in options.only]
    built = suites.build_all(chosen, lambda program: build(program, tools, options.suite, scratch))
    start = starter(stack, options)
    good = True
    for conduits, pes in itertools.product(options.conduits, options.pes):
        os.environ["OMPL_CONDUITS"] = conduits
        execution = partial(execute, start=start, scratch=scratch, pes=pes, options=options)
        outcomes = suites.execute_all(built, execution)
        print(f"{conduits}, {pes} PEs{', each on a host of its own' if options.hosts else ''}")
        suites.table(outcomes, PARTS)
        good = good and not suites.is_bad(outcomes)
    return good


def main() -> int:
    """Builds and runs them all."""
    options = parse()
    if not (options.suite / "test/unit").is_dir():
        print(f"skipped: no OpenSHMEM suite at '{options.suite}': set OMPL_SHMEM_SUITE to a clone of tests-sos")
        return 77
    if options.hosts and (reason := network.why_not()):
        print(f"skipped: {reason}")
        return 77
    if options.progress:
        os.environ["OMPL_PROGRESS"] = options.progress
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        return 0 if run_all(options, Path(folder), stack) else 1


if __name__ == "__main__":
    sys.exit(main())

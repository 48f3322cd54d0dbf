#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite.py BUILD SUITE [--images N] [--conduits LIST] [--hosts] [--limit SECONDS] [--only NAME...]: builds the test
programs of OpenCoarrays with caf, unchanged, and runs each on the number of images that it asks for; --images runs all
on another number where they allow it. With --hosts each image has a host of its own, a network namespace, which needs
root. SUITE is src/tests of https://github.com/sourceryinstitute/OpenCoarrays. "Test passed." is the criterion.

Prints a line for each program and a table of counts. Exit status 1 if a program cannot be built or fails; 77 if the
suite is not there, or no hosts can be made. NOT_TRIED names programs that are left out, and why.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[3] / "tests/net"))
import launchers
import network
import suites
from suites import Outcome, Program, run

LIMIT_S = 120
MOST_HOSTS = 8  # that a program of the suite asks for
Place = Callable[[int], list[str]]  # for a number of images: what comes before the program
PARTS = ("unit/init_register", "unit/send-get", "unit/collectives", "unit/sync", "unit/events", "unit/teams",
         "unit/simple", "unit/fail_images", "integration", "regression")  # fmt: skip
PASSED = "test passed."

# What is not tried, and why.
NOT_TRIED = {
    "get-communicator": "an MPI communicator of a team, an extension of OpenCoarrays",
    "teams_send": "not built by the suite's own files: it uses a team variable that was never formed",
}
# The number of images; 4 where nothing is said.
IMAGES = {
    "allocate_as_barrier": 2, "allocate_as_barrier_proc": 8, "async_comp_alloc": 6, "team-number": 8, "sync-team": 8,
    "syncall": 8, "syncimages": 8, "syncimages2": 8, "syncimages_status": 8, "duplicate_syncimages": 8,
    "testAtomics": 8, "teams_subset": 3, "teams_coarray_get": 5, "teams_coarray_get_by_ref": 5,
    "teams_coarray_send": 5, "teams_coarray_send_by_ref": 5, "teams_coarray_sendget": 5,
    "sync_image_ring_abort_on_stopped_image": 7, "strided_sendget": 3, "initialize_mpi": 2, "register": 2,
    "register_vector": 2, "async_comp_alloc_2": 2, "send_convert_nums": 2, "get_convert_nums": 2,
    "sendget_convert_nums": 3, "sendget_convert_char_array": 3, "issue-243-source-allocation-no-sync": 8,
    "issue-292-convert-type-before-put": 3, "issue-488-multi-dim-cobounds": 8, "static_event_post_issue_293": 3,
    "issue-422-send": 2, "issue-422-send-get": 3, "coarrayBurgers": 2, "issue-493-coindex-slice": 8,
    "issue-515-mimic-mpi-gatherv": 2, "issue-552-send_by_ref-singleton": 2, "coarrayHeatSimplified": 2,
}  # fmt: skip
# What is linked besides: a library of Fourier transforms that the suite has.
LIBRARIES = {"coarray-shear_coll": "integration/pde_solvers/navier-stokes/libfft_sse.a"}
ARGUMENTS = {"issue-488-multi-dim-cobounds": ["true"]}
# Programs of several files, in the order of compilation.
SEVERAL = {
    "coarrayBurgers": ("integration/pde_solvers/coarrayBurgers", (
        "library/object_interface.F90", "library/ForTrilinos_assertion_utility.F90", "library/co_object_interface.F90",
        "local_field.F90", "global_field.F90", "main.F90")),
    "coarrayHeatSimplified": ("integration/pde_solvers/coarrayHeatSimplified", (
        "local_field.f90", "global_field.f90", "main.f90")),
}  # fmt: skip
UTILITIES = ("opencoarrays_object_interface.f90", "oc_assertions_interface.F90", "oc_assertions_implementation.F90")
UTILITY_OPTIONS = ("-DUSE_ASSERTIONS=.true.", "-DHAVE_ERROR_STOP_IN_PURE", "-DHAVE_VARIABLE_STOP_CODE")
# Programs that call MPI, which starts before main where it is linked: compiled and started by MPICH's tools.
HYBRID = ("initialize_mpi", "coarray-shear_coll")


def programs(suite: Path) -> Iterator[Program]:
    """Every program of the suite: files with the criterion in them, and those of several files."""
    several = {suite / folder for folder, _ in SEVERAL.values()}
    for part in PARTS:
        for path in sorted((suite / part).rglob("*")):
            if path.suffix not in (".f90", ".F90") or any(parent in several for parent in path.parents):
                continue
            if PASSED in path.read_text(errors="replace").lower():
                yield Program(part, path.stem, [path])
    for name, (folder, files) in SEVERAL.items():
        options = [f"-I{suite / folder / 'include-files'}", "-DHAVE_COMPILER_CAPABILITIES"]
        yield Program("integration", name, [suite / folder / file for file in files], options)


def build(program: Program, tools: Path, suite: Path, scratch: Path) -> Outcome:
    """Compiles a program in a folder of its own, unless it is not to be tried."""
    if program.name in NOT_TRIED:
        return Outcome(program, "not tried", NOT_TRIED[program.name])
    if program.name in HYBRID and not shutil.which("mpifort.mpich"):
        return Outcome(program, "not tried", "an MPI program, and MPICH is not installed")
    folder = scratch / program.name
    folder.mkdir()
    if program.name == "coarrayBurgers":  # its build copies one of several files to this name
        capabilities = suite / "integration/pde_solvers/coarrayBurgers/include-files/gfortran_capabilities.txt"
        shutil.copy(capabilities, folder / "compiler_capabilities.txt")
    uses = any("oc_assertions_interface" in path.read_text(errors="replace") for path in program.sources)
    utilities = [suite / "utilities" / name for name in UTILITIES] if uses else []
    libraries: list[str | Path] = [suite / LIBRARIES[program.name], "-no-pie"] if program.name in LIBRARIES else []
    status, text = run(
        [tools / "caf", "-w", "-O1", "-g", "-cpp", *UTILITY_OPTIONS, *program.options, f"-I{folder}",
         *utilities, *program.sources, *libraries, "-o", "program"], LIMIT_S, folder,
        **({"CAF_FC": "mpifort.mpich"} if program.name in HYBRID else {}),
    )  # fmt: skip
    return Outcome(program, "built" if status == 0 else "not built", text)


@contextmanager
def hosts() -> Iterator[Place]:
    """A host for each image. This process is on their hub from then on."""
    network.remove_leftovers()
    with network.network(MOST_HOSTS) as made:
        network.enter(made.hub)
        yield lambda count: ["sh", "-c", launchers.TO_ITS_HOST, made.name, str(count), str(count)]


def execute(
    outcome: Outcome, tools: Path, scratch: Path, images: int, limit_s: int, place: Place | None = None
) -> Outcome:
    """Runs a program that was built, on this host or where `place` says."""
    if outcome.state != "built":
        return outcome
    program = outcome.program
    launcher: list[str | Path] = [tools / "cafrun", "--timeout", str(limit_s)]
    if program.name in HYBRID:
        if place is not None:
            return Outcome(program, "not tried", "MPICH starts it, which knows no such hosts")
        launcher = ["mpiexec.mpich"]
    count = images or IMAGES.get(program.name, 4)
    folder = scratch / program.name
    command = [*(place(count) if place else []), "./program", *ARGUMENTS.get(program.name, [])]
    status, text = run([*launcher, "-n", str(count), *command], limit_s, folder)
    passed = PASSED in text.lower() and status != 124
    return Outcome(program, "passed" if passed else "failed", f"{count} images, exit status {status}\n{text}")


def main() -> int:
    """Builds and runs them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("suite", type=Path, nargs="?", default=Path())
    parser.add_argument("--images", type=int, default=0)
    parser.add_argument("--conduits", default="self,shm")
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds for a program")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    if not (options.suite / "unit").is_dir():
        print(f"skipped: no suite at '{options.suite}': set OMPL_COARRAY_SUITE to src/tests of a clone of OpenCoarrays")
        return 77
    if options.hosts and (reason := network.why_not()):
        print(f"skipped: {reason}")
        return 77
    os.environ["OMPL_CONDUITS"] = options.conduits
    if "shm" not in options.conduits:  # more images than cores over a network: who waits gives its core away at once
        os.environ |= {"OMPL_SPIN": "0", "OMPL_YIELDS": "0"} | os.environ
    tools = options.build.resolve() / "bin"
    suite = options.suite.resolve()
    chosen = [each for each in programs(suite) if not options.only or each.name in options.only]
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        built = suites.build_all(chosen, lambda program: build(program, tools, suite, scratch))
        with hosts() if options.hosts else nullcontext() as where:
            given = options.images, options.limit, where
            outcomes = suites.execute_all(built, lambda one: execute(one, tools, scratch, *given))
    suites.table(outcomes, {part: part for part in PARTS} | {"": "all"})
    return 1 if suites.is_bad(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())

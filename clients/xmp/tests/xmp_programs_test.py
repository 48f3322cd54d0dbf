#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""xmp_programs_test.py BUILD CONDUITS [PREFIX SOURCE]: own programs of XMP/C over this project's back end, and the
tasklet programs of the Omni compiler over its tasks. Exit status 1 if one fails, 77 if the compiler is not there.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import omni_compiler

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from suites import run

PROGRAMS = Path(__file__).resolve().parent / "programs"


def says_pass(name: str, status: int, text: str) -> None:
    """Ends the test if the program did not pass."""
    if status != 0 or "PASS" not in text:
        sys.exit(f"{name}: exit status {status}\n{text}")
    print(f"passed: {name}", flush=True)


def build(omni: omni_compiler.Omni, name: str, scratch: Path, tasks: bool = False) -> Path:
    """Compiles one of our programs; none of libxmp's own back end may be in it."""
    program = scratch / name
    status, text = omni.compile([PROGRAMS / f"{name}.c"], program, tasks)
    if status != 0:
        sys.exit(f"{name} cannot be compiled:\n{text}")
    symbols = run(["nm", "--defined-only", program], omni_compiler.LIMIT_S)[1].split()
    if "main" not in symbols or any(symbol.startswith("_XMP_mpi_") for symbol in symbols):
        sys.exit(f"{name}: libxmp's own functions for MPI-3 were linked")
    return program


def test_coarrays(omni: omni_compiler.Omni, conduits: str, scratch: Path) -> None:
    """Sections, post and wait, MPI beside."""
    for name in ("sections", "tags", "threads", "gmove", "beside_mpi"):
        program = build(omni, name, scratch)
        for ranks in (2, 3):
            says_pass(f"{name}, {ranks} ranks", *omni.execute(program, ranks, conduits))


def test_a_death(omni: omni_compiler.Omni, conduits: str, scratch: Path) -> None:
    """An image is killed: the job ends with an error, by its launcher or, where that lets the others go on, by them."""
    program = build(omni, "dies", scratch)
    for options in ([], ["-disable-auto-cleanup"]):
        status, text = omni.execute(program, 2, conduits, *options)
        if status in (0, *omni_compiler.TIME_IS_UP) or "PASS" in text or "waits" not in text:
            sys.exit(f"dies, {options}: exit status {status}\n{text}")
        print(f"passed: dies {' '.join(options)}", flush=True)


def test_tasklets(omni: omni_compiler.Omni, source: Path, conduits: str, scratch: Path) -> None:
    """The directive tasklet, of the branch xmp2 only: Cholesky over coarrays, post and wait, with few threads."""
    if not (source / "libxmp2").is_dir():
        print("this branch of the compiler does not know the directive tasklet")
        return
    program = build(omni, "cholesky", scratch, tasks=True)
    for ranks in (1, 2, 3):
        for threads in (1, 2):
            done = omni.execute(program, ranks, conduits, XMP_NUM_THREADS=str(threads))
            says_pass(f"cholesky, {ranks} ranks, {threads} threads", *done)


def test_their_cholesky(omni: omni_compiler.Omni, source: Path, conduits: str, scratch: Path) -> None:
    """libxmp2/cholesky_task of the branch xmp2, in place of its runtime over Argobots."""
    folder = source / "libxmp2/cholesky_task"
    if not folder.is_dir():
        print("this branch of the compiler has no libxmp2/cholesky_task")
        return
    compiler = shutil.which("mpicc.mpich") or "mpicc"
    lapack = next((path for path in Path("/usr/lib").glob("*/liblapack.so.3")), None)
    blas = next((path for path in Path("/usr/lib").glob("*/libblas.so.3")), None)
    if lapack is None or blas is None:
        print("LAPACK is not installed (liblapack3): libxmp2/cholesky_task is not tried")
        return
    libraries = omni.build / "lib"
    for name, ranks in (("cholesky_task", 1), ("cholesky_task_sendrecv", 2), ("cholesky_task_sendrecv", 4)):
        program = scratch / f"{name}_{ranks}"
        status, text = run(
            [compiler, "-w", "-O1", "-std=gnu99", folder / f"{name}.c", "-o", program, f"-L{libraries}",
             f"-Wl,-rpath,{libraries}", "-lomnipgas-xmp-tasklet", "-lomnipgas-tasklet", "-lomnipgas", lapack, blas,
             "-lm"],
            omni_compiler.LIMIT_S,
        )  # fmt: skip
        if status != 0:
            sys.exit(f"{name} cannot be compiled:\n{text}")
        for threads in (1, 2):
            shell = scratch / "job"
            shell.write_text(f"#!/bin/sh\nexec {program} 256 32 1\n")
            shell.chmod(0o755)
            status, text = omni.execute(shell, ranks, conduits, XMP_NUM_THREADS=str(threads))
            if status != 0 or text.count("result:suc") != ranks:
                sys.exit(f"{name}, {ranks} ranks, {threads} threads: exit status {status}\n{text}")
            print(f"passed: {name}, {ranks} ranks, {threads} threads", flush=True)


def main() -> int:
    """All of them."""
    build_folder, conduits = Path(sys.argv[1]).resolve(), sys.argv[2]
    prefix, source = [*(Path(each).resolve() for each in sys.argv[3:5]), Path(), Path()][:2]
    omni = omni_compiler.Omni(prefix, build_folder)
    if reason := omni_compiler.why_not(omni):
        print(f"skipped: {reason}")
        return omni_compiler.SKIPPED
    with tempfile.TemporaryDirectory() as place:
        test_coarrays(omni, conduits, Path(place))
        test_a_death(omni, conduits, Path(place))
        test_tasklets(omni, source, conduits, Path(place))
        test_their_cholesky(omni, source, conduits, Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compilers.py [--list] [NAME...]

Builds the layer alone, without any library but fmt, with each compiler that is on this machine, or with those named,
and runs jobs of the examples with each build. Compilers are gcc and clang of any version under Debian's names, Debian's
cross compilers for aarch64 and riscv64 with qemu-user, and, for musl, zig, which `pip install --target build/ziglang
ziglang` brings. Jobs are started by build/bin/omplrun.

Prints a line for each. Exit status: 0, 1 after a failure, 77 if there is no compiler but the machine's own.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/compilers"
LAUNCHER = ROOT / "build/bin/omplrun"
ZIG = ROOT / "build/ziglang/ziglang/zig"
SKIP = 77
LIMIT_S = 1800
ALONE = tuple(
    f"-DOMPL_{what}=OFF"
    for what in (
        "BUILD_TESTS", "BUILD_TOOLS", "BUILD_INSTRUMENTS", "INSTALL", "WITH_FORTRAN", "WITH_SHMEM", "WITH_COARRAY",
        "WITH_TASKLET", "WITH_VERBS", "WITH_OFI", "WITH_UCX", "WITH_UTOFU", "WITH_PSM2", "WITH_PMIX", "WITH_HWLOC",
    )
)  # fmt: skip
JOBS = (("2", "pingpong", "64", "1000"), ("2", "threads", "4", "200"), ("3", "heat", "200"))
# Compiled in, so that no library of another compiler or architecture is needed.
FMT = """add_library(fmt::fmt-header-only INTERFACE IMPORTED)
set_target_properties(fmt::fmt-header-only PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_LIST_DIR}
  INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
"""


@dataclass(frozen=True)
class Toolchain:
    """A compiler for C and C++, what CMake has to know besides, and what runs its programs."""

    name: str
    c: str
    cxx: str
    options: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()

    def is_here(self) -> bool:
        programs = [self.c, self.cxx, *self.emulator[:1]]
        return all(shutil.which(program) for program in programs)


def cross(machine: str) -> Toolchain:
    """Debian's cross compiler of an architecture."""
    prefix = f"{machine}-linux-gnu"
    return Toolchain(
        machine, f"{prefix}-gcc", f"{prefix}-g++",
        ("-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={machine}"),
        (f"qemu-{machine}-static", "-L", f"/usr/{prefix}"),
    )  # fmt: skip


def zig(machine: str) -> Toolchain:
    """zig as a compiler for musl; its programs are scripts, for CMake wants one word."""
    folder = BUILD / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "c++", "ar", "ranlib"):
        script = folder / f"{machine}-{name}"
        script.write_text(f'#!/bin/sh\nexec {ZIG} {name} {f"-target {machine}" if name.startswith("c") else ""} "$@"\n')
        script.chmod(0o755 if ZIG.exists() else 0o644)
    tools = tuple(f"-DCMAKE_{name.upper()}={folder / f'{machine}-{name}'}" for name in ("ar", "ranlib"))
    return Toolchain(f"zig {machine}", str(folder / f"{machine}-cc"), str(folder / f"{machine}-c++"), tools)


def known() -> list[Toolchain]:
    """Every compiler that this script has a name for."""
    found = [Toolchain(f"gcc-{version}", f"gcc-{version}", f"g++-{version}") for version in range(9, 17)]
    found += [Toolchain(f"clang-{version}", f"clang-{version}", f"clang++-{version}") for version in range(13, 23)]
    return [*found, cross("aarch64"), cross("riscv64"), zig("x86_64-linux-musl")]


def run(*command: str, limit: float = LIMIT_S) -> str:
    """What a command prints; raises CalledProcessError with that if it fails."""
    return subprocess.run(
        command, check=True, timeout=limit, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout


def fmt() -> Path:
    """A folder with fmt's headers and a CMake package of them alone."""
    folder = BUILD / "fmt"
    shutil.rmtree(folder, ignore_errors=True)
    source = next(path for path in map(Path, ("/usr/include/fmt", "/usr/local/include/fmt")) if path.is_dir())
    shutil.copytree(source, folder / "fmt")
    (folder / "fmt-config.cmake").write_text(FMT)
    return folder


def tried(one: Toolchain, headers: Path) -> None:
    """Builds with a compiler and runs the jobs."""
    tree = BUILD / one.name.replace(" ", "-")
    run("cmake", "-S", str(ROOT), "-B", str(tree), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DOMPL_PORTABLE=ON",
        f"-Dfmt_DIR={headers}", f"-DCMAKE_C_COMPILER={one.c}", f"-DCMAKE_CXX_COMPILER={one.cxx}",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", *ALONE, *one.options)  # fmt: skip
    said = run("cmake", "--build", str(tree), "-j", str(os.cpu_count()), "--target", "omnipgas",
               *(job[1] for job in JOBS))  # fmt: skip
    warnings = len(re.findall(r"warning:", said))
    for ranks, program, *arguments in JOBS:
        run(str(LAUNCHER), "-n", ranks, "--timeout", "300", *one.emulator, str(tree / "bin" / program), *arguments)
    version = run(one.cxx, "--version").splitlines()[0]
    print(f"ok: {one.name}: {len(JOBS)} jobs, {warnings} warnings ({version})", flush=True)


def main(arguments: list[str]) -> int:
    """The exit status."""
    here = [one for one in known() if one.is_here()]
    if arguments == ["--list"]:
        print(*(one.name for one in here), sep="\n")
        return 0
    chosen = [one for one in here if one.name in arguments or not arguments]
    if len(chosen) < max(len(arguments), 1) or not LAUNCHER.exists():
        print(f"skipped: {LAUNCHER} or a compiler is not here; there are {', '.join(one.name for one in here)}")
        return SKIP
    failed = 0
    headers = fmt()
    for one in chosen:
        began = time.monotonic()
        try:
            tried(one, headers)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED: {one.name} after {time.monotonic() - began:.0f} s: {' '.join(error.cmd[:4])}")
            print((error.stdout or "")[-3000:], flush=True)
    print(f"{len(chosen)} compilers, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

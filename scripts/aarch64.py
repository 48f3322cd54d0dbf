#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""aarch64.py: compiles for aarch64 and runs the tests of one node under qemu-user.

Ranks as threads (unit tests, the conformance suite over self, shm and the mock), the parts of the tracer, and whole
jobs of the examples, started by this machine's omplrun. qemu-user on x86-64 keeps x86's strong order of memory
accesses, so this shows that the code is portable, not that its ordering is right: the models under spin speak of that.

Everything is below build/aarch64, Debian's foreign packages too: the machine's own list of architectures stays as
it is. Exit status: 0, 1 after a failure, 77 where the compiler or the emulator is missing. The last line counts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "aarch64"
SYSROOT = BUILD / "sysroot"
TOOLS = {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "qemu-aarch64-static": "qemu-user-static"}
PACKAGES = ("libfmt-dev", "libfmt9", "libgtest-dev")
TESTS = ("allocation_test", "bootstrap_wire_test", "bootstrap_test", "mapping_test", "settings_test", "mock_test",
         "mock_failure_test", "trace_reader_test", "trace_writer_test", "conformance_self", "conformance_shm",
         "conformance_mock")  # fmt: skip
EMULATED = ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
JOBS = (
    ("2", "pingpong", "64", "1000"),
    ("2", "pingpong", "1000003", "5"),
    ("2", "threads", "4", "200"),
    ("3", "heat", "200"),
)
SKIP = 77


def run(*command: str, limit: float = 1200) -> str:
    """Runs a step in BUILD and returns its output; ends the script if it fails."""
    print("aarch64:", " ".join(command[:6]), "...", flush=True)
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode != 0:
        print((done.stdout + done.stderr)[-4000:])
        sys.exit(1)
    return done.stdout


def sysroot() -> None:
    """Unpacks the foreign libraries, by an apt of our own state."""
    if (SYSROOT / "complete").exists():
        return
    shutil.rmtree(SYSROOT, ignore_errors=True)
    apt = BUILD / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    options = [f"Dir::State::Lists={apt}/lists", f"Dir::Cache={apt}/cache", f"Dir::State::status={apt}/status",
               "APT::Architectures::=arm64", "APT::Sandbox::User=root"]  # fmt: skip
    get = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    run(*get, "update", limit=300)
    run(*get, "download", *(f"{package}:arm64" for package in PACKAGES), limit=300)
    for package in BUILD.glob("*_arm64.deb"):
        run("dpkg-deb", "-x", str(package), str(SYSROOT))
        package.unlink()
    (SYSROOT / "complete").touch()


def main() -> int:
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return SKIP
    launcher = ROOT / "build" / "bin" / "omplrun"
    if not launcher.exists():
        print(f"skipped: {launcher} is not built")
        return SKIP
    BUILD.mkdir(parents=True, exist_ok=True)
    sysroot()
    left_out = ("WITH_VERBS", "WITH_OFI", "WITH_UCX", "WITH_PMIX", "WITH_FORTRAN", "BUILD_BENCH")
    off = [f"OMPL_{what}=OFF" for what in left_out]
    options = (*off, "OMPL_WERROR=ON", f"OMPL_SYSROOT={SYSROOT}", "CMAKE_BUILD_TYPE=Release")
    toolchain = ROOT / "cmake" / "aarch64.cmake"
    run(
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        "tree",
        "-G",
        "Ninja",
        "--toolchain",
        str(toolchain),
        *(f"-D{o}" for o in options),
    )
    run("cmake", "--build", "tree", "-j", str(os.cpu_count()), "--target", "omnipgas",
        "pingpong", "threads", "heat", *TESTS, limit=2400)  # fmt: skip
    wanted = f"^({'|'.join(TESTS)})$"
    output = run("ctest", "--test-dir", "tree", "-R", wanted, "--output-on-failure", "--timeout", "900", limit=3000)
    counted = re.search(r"tests passed, 0 tests failed out of (\d+)", output)
    if counted is None or int(counted[1]) != len(TESTS):
        print(output[-2000:])
        return 1
    # What stands before Fortran's names is written in assembler.
    shim = (sys.executable, "-B", str(ROOT / "instruments/tests/trace/shim_test.py"))
    run(*shim, "--compiler", "aarch64-linux-gnu-g++", "--run", *EMULATED)
    for ranks, *program in JOBS:
        binary = BUILD / "tree" / "bin" / program[0]
        run(str(launcher), "-n", ranks, "--timeout", "100", *EMULATED, str(binary), *program[1:], limit=120)
    print(f"aarch64: {int(counted[1]) + 1 + len(JOBS)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""install_test.py BUILD: installs the build into a fresh prefix, uses it as a stranger would: through
find_package and through pkg-config, running the OMPL paper's ping-pong on two ranks, in each language. Then
looks at what the library exports, and that uninstalling leaves nothing."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples/pingpong.c"
NODE = "OMPL_0.1"


def run(*command: str | Path, **environment: str) -> str:
    """Runs a command; if it fails, prints what it said and ends the test."""
    done = subprocess.run(
        [str(word) for word in command], env=os.environ | environment, timeout=120, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    if not holds:
        sys.exit(1)


def pingpong(prefix: Path, program: Path) -> None:
    output = run(prefix / "bin/omplrun", "-n", "2", "--timeout", "60", program, "64", "200")
    expect("64 bytes:" in output, f"{program.name} runs on two ranks: {output.strip()}")


def with_cmake(prefix: Path, scratch: Path, program: Path, *options: str) -> None:
    build = scratch / f"cmake{program.suffix}"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build,
        f"-DSOURCE={program}", f"-DCMAKE_PREFIX_PATH={prefix}", *options)  # fmt: skip
    run("cmake", "--build", build)
    pingpong(prefix, build / "consumer")


def with_pkg_config(prefix: Path, scratch: Path, package: str, program: Path, *compiler: str) -> None:
    library = next(prefix.rglob("pkgconfig")).parent
    search = {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", package, **search).split()
    version = run("pkg-config", "--modversion", package, **search).strip()
    expect(re.fullmatch(r"\d+\.\d+\.\d+", version) is not None, f"pkg-config knows {package} {version}")
    consumer = scratch / f"{package}{program.suffix}-consumer"
    run(*compiler, "-Wall", "-Werror", program, "-o", consumer, *flags, f"-Wl,-rpath,{library}")
    pingpong(prefix, consumer)


def fortran(prefix: Path, scratch: Path) -> None:
    """The module, if this build has it."""
    if not list(prefix.rglob("omnipgas.mod")):
        print("no Fortran: the build found no compiler for it")
        return
    program = PROGRAM.with_suffix(".f90")
    with_cmake(prefix, scratch, program, "-DLANGUAGE=Fortran", "-DLIBRARY=fortran")
    with_pkg_config(prefix, scratch, "omnipgas-fortran", program, "gfortran")


def exports(prefix: Path) -> None:
    """The library exports the functions of the headers under their version, and nothing else."""
    table = run("nm", "-D", "--defined-only", next(prefix.rglob("libomnipgas.so")))
    found = {line.split()[-1] for line in table.splitlines()} - {NODE}
    text = "".join(path.read_text() for path in prefix.rglob("*.h"))
    declared = set(re.findall(r"^OMPL_API\b[^;]*?\b(ompl_\w+)\(", text, re.MULTILINE))
    declared |= set(re.findall(r"^extern OMPL_API __thread struct \w+ (ompl_\w+)", text, re.MULTILINE))
    wanted = {f"{name}@@{NODE}" for name in declared}
    expect(
        found == wanted,
        f"{len(found)} symbols exported, as declared; differing: {sorted(found ^ wanted)}",
    )


def main(build: Path) -> None:
    manifest = build / "install_manifest.txt"
    kept = manifest.read_bytes() if manifest.exists() else None
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        prefix = scratch / "prefix"
        run("cmake", "--install", build, "--prefix", prefix)
        with_cmake(prefix, scratch, PROGRAM)
        with_cmake(prefix, scratch, PROGRAM.with_suffix(".cpp"), "-DLANGUAGE=CXX")
        with_pkg_config(prefix, scratch, "omnipgas", PROGRAM, "cc", "-std=c11")
        fortran(prefix, scratch)
        exports(prefix)
        run("cmake", f"-DMANIFEST={manifest}", "-P", ROOT / "cmake/Uninstall.cmake", DESTDIR="")
        left = [path for path in prefix.rglob("*") if not path.is_dir()]
        expect(not left, f"uninstalling removes every file: {left}")
    if kept is not None:
        manifest.write_bytes(kept)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

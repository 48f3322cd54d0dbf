#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wheel.py OUT: a wheel of the package omnipgas in OUT, with the library, the headers, the programs and their pages.

The tree that CMake installs becomes the wheel's data, which pip puts below the environment's prefix: bin/omplrun,
lib/libomnipgas.so.0, include/, share/man. So everything finds everything else as in any installation. What other
machines may lack is linked in (OMPL_PORTABLE); auditwheel says which of them it runs on, and that is the tag.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "build/wheel-tools/bin"
LIMIT_S = 3600  # the build on one slow core
SKIPPED = 77
TARGETS = ("omnipgas", "tools/all", "docs/all", "omni_programs")
NO_FORTRAN = "-DCMAKE_Fortran_COMPILER=NOTFOUND"  # its modules are one compiler's own
LINKED_IN = ("libfmt-dev", "libhwloc-dev", "libcli11-dev", "nlohmann-json3-dev", "libotf2-trace-dev")


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command that must not fail."""
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, env=os.environ | environment, timeout=LIMIT_S, check=False,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def install(build: Path, tree: Path) -> None:
    """Builds, and puts below `tree` what `make install` installs, and what omni needs."""
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DOMPL_PORTABLE=ON",
        "-DOMPL_BUILD_TESTS=OFF", "-DOMPL_BUILD_EXAMPLES=OFF", "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON", NO_FORTRAN)  # fmt: skip
    run("cmake", "--build", build, "-j", str(os.cpu_count()), "--target", *TARGETS)
    shutil.rmtree(tree, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", tree, "--strip")
    run("cmake", "--install", build, "--prefix", tree, "--strip", "--component", "omni")


def settle(tree: Path) -> None:
    """Wheels hold no links: the linker's name of the library says in a line where it is."""
    for link in [path for path in tree.rglob("*") if path.is_symlink()]:
        target = os.readlink(link)
        link.unlink()
        link.write_text(f"INPUT({target})\n")
    licences = tree / "share/doc/omnipgas/linked-in"
    licences.mkdir()
    for package in LINKED_IN:
        shutil.copy(f"/usr/share/doc/{package}/copyright", licences / package)


def main(out: Path) -> int:
    if not TOOLS.exists():
        print("build/wheel-tools is missing; scripts/setup.sh package makes it")
        return SKIPPED
    out.mkdir(parents=True, exist_ok=True)
    tree = out / "tree"
    install(out / "cmake", tree)
    settle(tree)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "python")  # setuptools leaves its traces beside the sources
        shutil.copytree(ROOT / "python", package, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        shutil.copytree(ROOT / "include", Path(folder, "include"))
        run(TOOLS / "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, package,
            OMPL_WHEEL_TREE=str(tree))  # fmt: skip
        wheel = next(Path(folder).glob("*.whl"))
        tag = re.search(r'"(manylinux_\d+_\d+_\w+)"', run(TOOLS / "auditwheel", "show", wheel))
        if not tag:
            sys.exit(f"auditwheel knows no tag for {wheel}")
        name = run(TOOLS / "wheel", "tags", "--platform-tag", tag[1], wheel).split()[-1]
        for old in out.glob("*.whl"):
            old.unlink()
        shutil.copy(Path(folder, Path(name).name), out)
    print(next(out.glob("*.whl")))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wheel.py OUT: two wheels in OUT: omnipgas, with the library, OpenSHMEM, the headers, omplrun and their pages, and
omnipgas_tools, with the command omni and the programs that it starts.

The tree that CMake installs becomes the wheels' data, which pip puts below the environment's prefix: bin/omplrun,
lib/libomnipgas.so.0, include/, share/man. So everything finds everything else as in any installation. What other
machines may lack is linked in (OMPL_PORTABLE); auditwheel says which of them it runs on, and that is the tag.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from operator import attrgetter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/wheel-tools/bin"
LIMIT_S = 3600  # the build on one slow core
SKIPPED = 77
TARGETS = ("omnipgas", "omnipgas_shmem", "tools/all", "docs/all", "ompl-bench-verbs", "omni_programs")
PACKAGES = {"omnipgas": ROOT / "bindings/python", "omnipgas-tools": ROOT / "instruments/omni"}
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


def configure(build: Path) -> None:
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DOMPL_PORTABLE=ON",
        "-DOMPL_BUILD_TESTS=OFF", "-DOMPL_BUILD_EXAMPLES=OFF", "-DOMPL_WITH_COARRAY=OFF", "-DOMPL_WITH_TASKLET=OFF",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON", NO_FORTRAN)  # fmt: skip
    run("cmake", "--build", build, "-j", str(os.cpu_count()), "--target", *TARGETS)


def install(build: Path, tree: Path, tools: bool) -> None:
    """Puts below `tree` what `make install` installs, or what omni needs beside it."""
    shutil.rmtree(tree, ignore_errors=True)
    install = ("cmake", "--install", build, "--prefix", tree, "--strip")
    if tools:
        run(*install, "--component", "omni")
        run(*install, "--component", "man")
        pages = tree / "share/man"
        for page in [path for path in pages.rglob("*.[137]") if not path.name.startswith(("omni.", "omni-"))]:
            page.unlink()
    else:
        run(*install)
        (tree / "share/man/man1/omni.1").unlink(missing_ok=True)


def settle(tree: Path, name: str) -> None:
    """Wheels hold no links: the linker's name of the library says in a line where it is."""
    for link in [path for path in tree.rglob("*") if path.is_symlink()]:
        target = os.readlink(link)
        link.unlink()
        link.write_text(f"INPUT({target})\n")
    licences = tree / "share/doc" / name / "linked-in"
    licences.mkdir(parents=True)
    for package in LINKED_IN:
        shutil.copy(f"/usr/share/doc/{package}/copyright", licences / package)


def files_below(tree: Path) -> list[tuple[str, list[str]]]:
    """As setup() takes data_files: each folder with the files in it."""
    by_folder = attrgetter("parent")
    paths = sorted((path for path in sorted(tree.rglob("*")) if path.is_file()), key=by_folder)
    return [(str(folder.relative_to(tree)), [*map(str, some)]) for folder, some in groupby(paths, by_folder)]


def pack(tree: Path, sources: Path, out: Path) -> Path:
    """The wheel of the Python package in `sources`, with the tree, in `out`."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, sources.relative_to(ROOT))  # setuptools leaves its traces beside the sources
        shutil.copytree(sources, package, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        shutil.copytree(ROOT / "include", Path(folder, "include"))
        listed = Path(folder, "files.json")
        listed.write_text(json.dumps(files_below(tree)))
        run(TOOLS / "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, package,
            OMPL_WHEEL_FILES=str(listed))  # fmt: skip
        wheel = next(Path(folder).glob("*.whl"))
        tag = re.search(r'"(manylinux_\d+_\d+_\w+)"', run(TOOLS / "auditwheel", "show", wheel))
        if not tag:
            sys.exit(f"auditwheel knows no tag for {wheel}")
        name = run(TOOLS / "wheel", "tags", "--platform-tag", tag[1], wheel).split()[-1]
        return Path(shutil.copy(Path(folder, Path(name).name), out))


def main(out: Path) -> int:
    if not TOOLS.exists():
        print("build/wheel-tools is missing; scripts/setup.sh package makes it")
        return SKIPPED
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.whl"):
        old.unlink()
    configure(out / "cmake")
    for name, sources in PACKAGES.items():
        tree = out / "tree"
        install(out / "cmake", tree, tools=name == "omnipgas-tools")
        settle(tree, name)
        print(pack(tree, sources, out))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

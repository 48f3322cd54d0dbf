#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""abi.py check LIBRARY     holds the library's binary interface against the last release: the last tag v* in the
                            history, built for the occasion, or without one packaging/abi/libomnipgas.abi
abi.py exports LIBRARY   the library exports what the headers declare, in the block that the map names
abi.py baseline LIBRARY  writes packaging/abi/ anew, when a release is made

Additions are fine. What was removed or changed, functions, types, or values of constants, is an error unless the
soname was raised (docs/reference/versioning.md).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

import contract  # noqa: E402
from contract import ROOT  # noqa: E402

BASELINE = HERE / "libomnipgas.abi"
CONSTANTS = HERE / "constants.txt"
SUPPRESSIONS = HERE / "suppressions.ini"
INCLUDE = ROOT / "include"
BUILD_LIMIT_S = 900
LIMIT_S = 120
SKIPPED = 77
# Bits of abidiff's exit status: it failed, it was called wrongly. The others are changes.
ABIDIFF_ERRORS = 1 | 2


def run(*command: str | Path, limit: int = LIMIT_S) -> str:
    """The output of a command that must not fail."""
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, timeout=limit, check=False, text=True, capture_output=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def soname(library: Path) -> str:
    if library.suffix == ".abi":
        found = re.search(r"soname='([^']+)'", library.read_text())
    else:
        found = re.search(r"SONAME\) .*\[(.*)\]", run("readelf", "-d", library))
    return found[1] if found else ""


def constants(include: Path) -> dict[str, str]:
    """The values that programs have compiled in: of the enumerators and of the macros that are not versions."""
    found: dict[str, str] = {}
    for name in contract.HEADERS:
        path = include / "omnipgas" / name
        if not path.exists():  # a header that came later
            continue
        text = re.sub(r"/\*.*?\*/|\\\n", "", path.read_text(), flags=re.DOTALL)
        found |= dict(re.findall(r"\b(OMPL_\w+) = (-?\w+)", text))
        found |= dict(re.findall(r"^#define (OMPL_(?!VERSION|API|EXTERN)\w+) +(\S.*)$", text, re.MULTILINE))
    return {name: " ".join(value.split()) for name, value in found.items()}


def describe(library: Path, include: Path, out: Path) -> Path:
    """The interface as XML: of what is exported, the types that the public headers define."""
    run("abidw", "--exported-interfaces-only", "--drop-private-types", "--drop-undefined-syms", "--no-corpus-path",
        "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--type-id-style", "hash",
        "--headers-dir", include, "--out-file", out, library)  # fmt: skip
    return out


def compare(old: Path, new: Path) -> list[str]:
    """What abidiff holds against the new interface: anything but additions."""

    def differences(*options: str | Path) -> str:
        done = subprocess.run(
            ["abidiff", "--no-added-syms", "--no-show-locs", *options, old, new],
            timeout=LIMIT_S, check=False, text=True, capture_output=True,
        )  # fmt: skip
        if done.returncode & ABIDIFF_ERRORS:
            sys.exit(f"abidiff: {done.stdout}{done.stderr}")
        return done.stdout if done.returncode else ""

    text = differences("--suppressions", SUPPRESSIONS)
    # What may grow is forgiven too if its members moved meanwhile, which it may not.
    whole = differences()
    return [text or whole] if text or re.search("offset changed|data member (change|deletion)", whole) else []


def check(old: Path, old_constants: dict[str, str], library: Path, include: Path) -> int:
    """Compares the library and the headers that belong to it with an interface of before."""
    with tempfile.TemporaryDirectory() as folder:
        findings = compare(old, describe(library, include, Path(folder, "new.abi")))
    now = constants(include)
    findings += [
        f"{name} was {value}, is {now.get(name, 'gone')}"
        for name, value in old_constants.items()
        if now.get(name) != value
    ]
    print("\n".join(findings))
    if findings and soname(old) != soname(library):
        print(f"ok: incompatible, but the soname was raised from {soname(old)} to {soname(library)}")
        return 0
    print("FAILED: programs built against the last release would break" if findings else "ok: compatible")
    return 1 if findings else 0


def last_tag() -> str:
    git = ["git", "-c", "safe.directory=*", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    done = subprocess.run(git, cwd=ROOT, timeout=LIMIT_S, check=False, text=True, capture_output=True)
    return done.stdout.strip()


def check_against_tag(tag: str, library: Path) -> int:
    """Builds the library of the tag, with debug information, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree, build = Path(folder, "tree"), Path(folder, "build")
        run("git", "-c", "safe.directory=*", "archive", "--format=tar", f"--output={folder}/tar", tag)
        shutil.unpack_archive(f"{folder}/tar", tree, "tar")
        run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DOMPL_BUILD_TESTS=OFF",
            "-DOMPL_BUILD_BENCH=OFF", "-DOMPL_BUILD_EXAMPLES=OFF")  # fmt: skip
        run("cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "omnipgas", limit=BUILD_LIMIT_S)
        old = describe(build / "lib/libomnipgas.so", tree / "include", Path(folder, "old.abi"))
        return check(old, constants(tree / "include"), library, INCLUDE)


def read_constants() -> dict[str, str]:
    return dict(re.findall(r"^(\w+) (.*)$", CONSTANTS.read_text(), re.MULTILINE))


def write_baseline(library: Path) -> int:
    describe(library, INCLUDE, BASELINE)
    CONSTANTS.write_text("".join(f"{name} {value}\n" for name, value in sorted(constants(INCLUDE).items())))
    print(f"{BASELINE} and {CONSTANTS} describe {library}")
    return 0


def exports(library: Path) -> int:
    """The headers, the map and the library name the same symbols."""
    table = run("nm", "-D", "--defined-only", library)
    found = {line.split()[-1] for line in table.splitlines() if line.split()[-2] != "A"}
    promised = contract.promised()
    declared = contract.exported(contract.contract())
    wanted = {f"{name}@@{block}" for name, block in promised.items()}
    for where, difference in (
        ("declared in the headers, not named in src/libomnipgas.map", declared - set(promised)),
        ("named in src/libomnipgas.map, not declared in the headers", set(promised) - declared),
        ("promised, not exported", wanted - found),
        ("exported, not promised", found - wanted),
    ):
        if difference:
            print(f"FAILED: {where}: {', '.join(sorted(difference))}")
    same = bool(found) and declared == set(promised) and found == wanted
    if same:
        print(f"ok: {len(found)} symbols exported, as declared")
    return 0 if same else 1


def main(action: str, library: Path) -> int:
    if action == "exports":
        return exports(library)
    if not shutil.which("abidiff"):
        print("abidiff is not installed (Debian: abigail-tools)")
        return SKIPPED
    if action == "baseline":
        return write_baseline(library)
    tag = last_tag()
    if tag:
        return check_against_tag(tag, library)
    return check(BASELINE, read_constants(), library, INCLUDE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

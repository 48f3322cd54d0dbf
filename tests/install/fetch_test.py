#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fetch_test.py BUILD OUT: a project that takes this tree by FetchContent gets the layer alone, compiles the ping-pong
against it, runs it on two ranks, and installs nothing of ours. OUT is a folder for it."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 1200


def run(*command: str | Path) -> str:
    """What a command prints; a failure ends the test."""
    done = subprocess.run(
        [str(word) for word in command], timeout=LIMIT_S, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def main(build: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    tree = out / "build"
    run("cmake", "-S", ROOT / "tests/install/fetch", "-B", tree, "-G", "Ninja", f"-DOMNIPGAS_SOURCE={ROOT}",
        f"-DSOURCE={ROOT / 'examples/pingpong.c'}", "-DCMAKE_BUILD_TYPE=Release", "-DOMPL_WITH_UTOFU=OFF")  # fmt: skip
    rules = run("ninja", "-C", tree, "-t", "targets", "all")
    for part in ("omplrun", "ompl-info", "omnipgas_shmem", "omnipgas_coarray", "gtest"):
        expect(f"/{part}" not in rules and f"{part}:" not in rules, f"the project does not build {part}")
    run("cmake", "--build", tree)
    said = run(build / "bin/omplrun", "-n", "2", "--timeout", "240", tree / "app", "64", "200")
    expect("64 bytes:" in said, f"it runs on two ranks: {said.strip()}")
    run("cmake", "--install", tree, "--prefix", out / "prefix")
    installed = [path for path in (out / "prefix").rglob("*") if path.is_file()]
    expect(installed == [out / "prefix/bin/app"], f"it installs {installed}")
    shutil.rmtree(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())

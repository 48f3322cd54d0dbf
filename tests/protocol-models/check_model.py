#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks one Promela model with spin: every instance that its first comment lists.

@small DEFINES          must hold; part of `make check`
@long DEFINES           must hold; with --long only (then the small ones are left out)
@bug DEFINES : TEXT     a seeded bug: the search must end in an error that says TEXT

A model holds when the search is complete, finds no error, and its small instances together reach every
state of the model, but for lines marked `/* unreached: why */`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SKIP = 77
MAX_DEPTH = 100_000
LIMIT_S = 600  # for spin and the compiler, which need seconds on a quiet machine
INCOMPLETE = ("Search not completed", "max search depth too small", "out of memory")
State = tuple[str, int, str]  # file; line; process type, number and text of a state


class FailedError(Exception):
    """What did not come out as the model says."""


@dataclass(frozen=True)
class Instance:
    kind: str  # small, long or bug
    defines: list[str]
    error: str  # what a bug's error must say

    @property
    def name(self) -> str:
        return " ".join([self.kind, *self.defines])


@dataclass(frozen=True)
class Coverage:
    unreached: set[State]
    sizes: dict[str, int]  # number of states of each process type, but init


def instances(model: Path) -> list[Instance]:
    head = model.read_text().split("*/", 1)[0]
    found = re.findall(r"@(small|long|bug)\b([^:\n]*)(?::[ ]*(.+))?", head)
    return [Instance(kind, defines.split(), error.strip()) for kind, defines, error in found]


def run(command: list[str], where: Path, seconds: int) -> str:
    # `timeout` bounds the child even if this script is killed.
    done = subprocess.run(["timeout", "-k", "1", str(seconds), *command], cwd=where, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode in (124, 137):
        raise FailedError(f"{command[0]} ran longer than {seconds} s")
    if done.returncode != 0:
        raise FailedError(f"{command[0]} failed:\n{done.stdout}")
    return done.stdout


def search(model: Path, instance: Instance, options: argparse.Namespace) -> str:
    """Generates, compiles and runs the verifier; returns what it printed."""
    optimize = "-O0" if instance.kind == "bug" else "-O2"  # a bug is found sooner than optimized code compiles
    with tempfile.TemporaryDirectory(prefix="omnipgas-model-") as name:
        where = Path(name)
        run(["spin", "-a", *(f"-D{define}" for define in instance.defines), str(model.resolve())], where, LIMIT_S)
        run([options.cc, optimize, "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={options.memory}",
             "-o", "pan", "pan.c"], where, LIMIT_S)
        return run(["./pan", f"-m{MAX_DEPTH}"], where, options.seconds)


def number(output: str, pattern: str) -> int:
    match = re.search(pattern, output)
    if match is None:
        raise FailedError(f"no '{pattern}' in the verifier's output:\n{output}")
    return int(match.group(1))


def check_holds(output: str) -> str:
    if number(output, r"errors: (\d+)"):
        raise FailedError(" ".join(line for line in output.splitlines() if line.startswith("pan:1")))
    for text in INCOMPLETE:
        if text in output:
            raise FailedError(f"the search is incomplete: {text}")
    states = number(output, r"(\d+) states, stored")
    return f"holds, {states:,} states"


def check_bug(output: str, instance: Instance) -> str:
    error = re.search(r"^pan:\d+: (.*) \(at depth \d+\)", output, re.MULTILINE)
    if error is None:
        raise FailedError("the seeded bug was not found")
    if not instance.error or instance.error not in error.group(1):
        raise FailedError(f"expected '{instance.error}', found '{error.group(1)}'")
    return f"found, {error.group(1)}"


def coverage(output: str) -> Coverage:
    unreached: set[State] = set()
    sizes: dict[str, int] = {}
    process = ""
    for line in output.splitlines():
        if match := re.match(r"unreached in (.+)", line):
            process = match.group(1)
        elif match := re.match(r'\t(.+):(\d+), (state \d+, ".*")$', line):
            unreached.add((match.group(1), int(match.group(2)), f"{process}, {match.group(3)}"))
        elif (match := re.match(r"\t\(\d+ of (\d+) states\)", line)) and process != "init":
            sizes[process] = int(match.group(1))
    return Coverage(unreached, sizes)


def marked(state: State) -> bool:
    file, line, _ = state
    return "unreached:" in Path(file).read_text().splitlines()[line - 1]


def count_never(model: Path, coverages: list[Coverage]) -> int:
    """Prints and counts the states that no instance reaches."""
    if any(each.sizes != coverages[0].sizes for each in coverages):
        print(f"{model.name}: FAILED: instances may differ in init and in constants, not in process types")
        return 1
    never = set.intersection(*(each.unreached for each in coverages))
    wrong = [state for state in sorted(never) if not marked(state)]
    for file, line, text in wrong:
        print(f"{Path(file).name}:{line}: FAILED: no small instance reaches {text}")
    return len(wrong)


def check(model: Path, options: argparse.Namespace) -> int:
    """Runs the chosen instances, prints one line each, and returns the number of failures."""
    wanted = ["long"] if options.long else ["small", "bug"]
    chosen = [instance for instance in instances(model) if instance.kind in wanted]
    if not any(instance.kind == wanted[0] for instance in chosen):
        print(f"{model.name}: FAILED: its first comment has no @{wanted[0]} line")
        return 1
    failures = 0
    coverages = []
    for instance in chosen:
        try:
            output = search(model, instance, options)
            if instance.kind == "bug":
                result = check_bug(output, instance)
            else:
                result = check_holds(output)
                coverages.append(coverage(output))
        except FailedError as failure:
            failures += 1
            result = f"FAILED: {failure}"
        print(f"{model.stem} {instance.name}: {result}", flush=True)
    if coverages and not options.long:
        failures += count_never(model, coverages)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--long", action="store_true", help="the larger instances instead of the small ones")
    parser.add_argument("--cc", default="cc", help="C compiler for the verifier")
    parser.add_argument("--memory", type=int, default=2000, help="MiB for one search")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of one search")
    options = parser.parse_args()
    if shutil.which("spin") is None:
        print("skipped: spin is not installed (Debian package: spin)")
        return SKIP
    return 1 if check(options.model, options) else 0


if __name__ == "__main__":
    sys.exit(main())

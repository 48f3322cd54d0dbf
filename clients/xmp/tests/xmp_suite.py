#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""xmp_suite.py BUILD PREFIX SOURCE [--conduits LIST] [--part NAME...] [--only NAME...] [--plain]: builds the Omni
compiler's own tests of XMP/C with xmpcc and this project's back end, unchanged, and runs each on the number of ranks
that its Makefile says. PREFIX: where the compiler is installed; SOURCE: its source. --plain: with libxmp's own MPI-3.

Prints a line for each program and a table of counts. Exit status 1 if a program cannot be built or fails; 77 if the
compiler is not there.
"""

import argparse
import itertools
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import omni_compiler

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import suites
from suites import Outcome, Program

KINDS = ("C", "C-Square", "C-Round")  # folders of a part
FOLDERS = ("tests/XMP", "tests/xcalablemp")
PARTS = ("local-view/coarray", "local-view/intrinsic", "local-view/post-wait", "local-view/sync_image",
         "local-view/other", "global-view/align", "global-view/array", "global-view/async", "global-view/bcast",
         "global-view/gblock", "global-view/gmove", "global-view/inquiry", "global-view/intrinsic", "global-view/loop",
         "global-view/reduction", "global-view/shadow-reflect", "global-view/structure", "global-view/task",
         "global-view/template_fix", "global-view/util", "others")  # fmt: skip
RUN_LINE = re.compile(r"^\s+\$\(XRUN\)\s+-np?\s+(\d+)\s+\./(\w+)\.x\s*$", re.MULTILINE)


@dataclass
class Test(Program):
    """One of the suite, with its number of ranks."""

    ranks: int = 1


def tests(suite: Path, parts: list[str]) -> Iterator[Test]:
    """What the Makefiles of the parts run."""
    for part, kind in itertools.product(parts, KINDS):
        folder = suite / part / kind
        makefile = folder / "Makefile"
        text = makefile.read_text(errors="replace") if makefile.exists() else ""
        for ranks, name in dict.fromkeys(RUN_LINE.findall(text)):
            yield Test(part, name, [folder / f"{name}.c"], ranks=int(ranks))


def place(program: Program, scratch: Path) -> Path:
    """The folder that a program is compiled and run in."""
    return scratch / program.part / program.sources[0].parent.name / program.name


def build(program: Program, omni: omni_compiler.Omni, scratch: Path) -> Outcome:
    """Compiles a program in a folder of its own."""
    if not program.sources[0].exists():
        return Outcome(program, "not tried", "made of several files")
    folder = place(program, scratch)
    folder.mkdir(parents=True, exist_ok=True)
    status, text = omni.compile(program.sources, folder / "program")
    return Outcome(program, "built" if status == 0 else "not built", text)


def execute(outcome: Outcome, omni: omni_compiler.Omni, scratch: Path, conduits: str) -> Outcome:
    """Runs a program that was built: it passes if it exits with 0 and says PASS, if that is one of its words."""
    program = outcome.program
    if outcome.state != "built" or not isinstance(program, Test):
        return outcome
    status, text = omni.execute(place(program, scratch) / "program", program.ranks, conduits)
    says = "PASS" in program.sources[0].read_text(errors="replace")
    passed = status == 0 and ("PASS" in text or not says) and "ERROR" not in text
    return Outcome(program, "passed" if passed else "failed", f"{program.ranks} ranks, exit status {status}\n{text}")


def main() -> int:
    """Builds and runs them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("prefix", type=Path, nargs="?", default=Path())
    parser.add_argument("source", type=Path, nargs="?", default=Path())
    parser.add_argument("--conduits", default="self,shm")
    parser.add_argument("--part", nargs="*", default=list(PARTS))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    omni = omni_compiler.Omni(options.prefix.resolve(), options.build.resolve(), options.plain)
    if reason := omni_compiler.why_not(omni):
        print(f"skipped: {reason}")
        return omni_compiler.SKIPPED
    suite = next((options.source / name for name in FOLDERS if (options.source / name).is_dir()), None)
    if suite is None:
        print(f"skipped: no tests in '{options.source}': set OMPL_OMNI_SOURCE to the source of the Omni compiler")
        return omni_compiler.SKIPPED
    chosen = [each for each in tests(suite.resolve(), options.part) if not options.only or each.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        built = suites.build_all(chosen, lambda program: build(program, omni, scratch))
        outcomes = suites.execute_all(built, lambda one: execute(one, omni, scratch, options.conduits))
    suites.table(outcomes, {part: part for part in options.part} | {"": "all"})
    return 1 if suites.is_bad(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())

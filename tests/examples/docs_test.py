#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs_test.py BUILD PYTHON: every whole program in the documentation compiles without a warning and runs on two
ranks. A Fortran program needs the module, one in Python that Python with the package's extension module."""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIP = 77
PAGES = (
    "README.md", "docs/tutorials/first-program.md", "docs/reference/bindings.md", "docs/how-to/openshmem.md",
    "docs/how-to/coarray.md", "docs/how-to/tasklet.md",
)  # fmt: skip
# What tells a program from a fragment, and how a program is named, by the language of its block.
WHOLE = {"c": "int main(", "cpp": "int main(", "fortran": "\nend program", "python": "import omnipgas"}
SUFFIX = {"c": ".c", "cpp": ".cpp", "fortran": ".f90", "python": ".py"}


@dataclass(frozen=True)
class Program:
    where: str
    language: str
    text: str


def programs() -> list[Program]:
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            if match[1] in WHOLE and WHOLE[match[1]] in match[2]:
                line = text.count("\n", 0, match.start()) + 2
                found.append(Program(f"{page}:{line}", match[1], match[2]))
    return found


def run(*command: str | Path) -> str | None:
    """None if the command succeeds, else what it said."""
    done = subprocess.run(
        [str(word) for word in command], timeout=250, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return None if done.returncode == 0 else f"exit status {done.returncode}: {done.stdout}"


def compiler(build: Path, program: Program) -> list[str | Path] | None:
    """The command before the source and `-o program`; None if this build lacks the language."""
    common: list[str | Path] = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include"]
    language = program.language
    if "<omnipgas/tasklet.h>" in program.text:
        there = (build / "lib/libomnipgas-tasklet.so").exists()
        return ["cc", "-std=c11", *common, f"-I{ROOT}/clients/tasklet"] if there else None
    if "<shmem.h>" in program.text:
        oshcc = build / "bin/oshcc"
        return [oshcc, "-std=c11", *common] if oshcc.exists() else None
    if language == "c":
        return ["cc", "-std=c11", *common]
    if language == "cpp":
        return ["c++", "-std=c++20", *common]
    if "[*]" in program.text:
        caf = build / "bin/caf"
        return [caf, "-std=f2018", *common] if caf.exists() else None
    modules = build / "bindings/fortran/modules"
    return ["gfortran", "-std=f2018", *common, f"-I{modules}"] if modules.exists() else None


def check(build: Path, python: str, program: Program, folder: Path) -> str | None:
    """What is wrong with a program, "" if it cannot be tried here."""
    source, binary = folder / f"program{SUFFIX[program.language]}", folder / "program"
    source.write_text(program.text)
    job: list[str | Path] = [build / "bin/omplrun", "-n", "2", "--timeout", "240"]
    if program.language == "python":
        if run(python, "-c", "import numpy, omnipgas._core"):
            return ""
        return run(*job, python, "-B", source)
    command = compiler(build, program)
    if command is None:
        return ""
    libraries = ["-lomnipgas_fortran"] * (program.language == "fortran")
    libraries += ["-lomnipgas-tasklet"] * ("<omnipgas/tasklet.h>" in program.text) + ["-lomnipgas"]
    link = [f"-L{build}/lib", *libraries, f"-Wl,-rpath,{build}/lib"]
    return run(*command, source, "-o", binary, *link) or run(*job, binary)


def main(build: Path, python: str) -> int:
    os.environ |= {"PYTHONPATH": str(ROOT / "bindings/python"), "OMNIPGAS_LIBRARY": str(build / "lib/libomnipgas.so.0")}
    failures, left_out, found = 0, 0, programs()
    with tempfile.TemporaryDirectory() as folder:
        for program in found:
            wrong = check(build, python, program, Path(folder))
            failures += bool(wrong)
            left_out += wrong == ""
            said = f"FAILED: {program.where}: {wrong}" if wrong else f"ok: {program.where}"
            print(f"skipped: {program.where}: no {program.language} here" if wrong == "" else said)
    if {program.where.split(":")[0] for program in found} != set(PAGES):
        print(f"FAILED: not every page of {PAGES} has a program")
        return 1
    return 1 if failures else SKIP if left_out else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lint.py [CHECK...]: clang-format, clang-tidy, codespell, ruff, mypy over the tree, or the ones named.

Prints one line for each: "ok: NAME", "skipped: NAME: reason" or "FAILED: NAME" after the findings; the
exit status is 1 if any failed. clang-tidy looks only at files that changed, themselves or in what they
include, since it last found them clean.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
# The compile commands are GCC's: what it alone knows is no finding.
GCC_ONLY = ("--extra-arg=-Wno-ignored-optimization-argument", "--extra-arg=-Wno-unknown-attributes")
CLANG_ONLY = ("--extra-arg=-Wthread-safety",)  # util/mutex.hpp
TIDY_FOLDERS = re.compile(r"(src|tools|instruments)/(?!.*\btests/)")  # not tests: they spell names as others do
LIMIT_S = 1800  # for one program; mypy needs up to 60 s on an idle machine
TIDY_AT_ONCE = 8  # sources: most of the time goes into the headers that they share
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


class SkippedError(Exception):
    """The check could not be made; says why."""


def tracked(*patterns: str) -> list[str]:
    """The tree's files that match, new ones included, ignored ones not."""
    # A checkout of another user's is no danger to a command that only lists it.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def tool(name: str) -> str:
    """The program, from build/venv if it is there."""
    own = BUILD / "venv/bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if not found:
        raise SkippedError(f"{name} is not installed; scripts/setup.sh check brings it")
    return found


def run(*command: str) -> str:
    """What the command complained about; empty if it exits with 0."""
    out = subprocess.PIPE
    try:
        done = subprocess.run(
            command, cwd=ROOT, timeout=LIMIT_S, check=False, text=True, stdout=out, stderr=subprocess.STDOUT
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {LIMIT_S} s\n"
    return "" if done.returncode == 0 else done.stdout or f"{command[0]}: exit status {done.returncode}"


def clang_format() -> str:
    return run(tool("clang-format"), "--dry-run", "-Werror", *tracked("*.h", "*.hpp", "*.c", "*.cpp"))


def codespell() -> str:
    return run(tool("codespell"), *tracked())


def ruff() -> str:
    return run(tool("ruff"), "check", "-q", *tracked("*.py"))


def mypy() -> str:
    # Two packages have a setup.py, which mypy takes for one module: each is looked at by itself.
    alone = set(tracked("*/setup.py"))
    groups = [[file for file in tracked("*.py") if file not in alone], *([file] for file in sorted(alone))]
    return "".join(run(tool("mypy"), "--no-error-summary", *group) for group in groups)


@dataclass(frozen=True)
class Unit:
    """One source file as the build compiles it."""

    source: Path
    command: str

    @property
    def flags(self) -> list[str]:
        """The compiler's arguments without what it reads and writes."""
        words = shlex.split(self.command)[1:]
        skipped = {i + j for i, word in enumerate(words) if word in ("-o", "-c") for j in (0, 1)}
        return [word for i, word in enumerate(words) if i not in skipped]

    @property
    def is_part(self) -> bool:
        """Can be read together with others: is neither a program nor C, where all names meet."""
        return self.source.suffix == ".cpp" and not re.search(r"^int main\(", self.source.read_text(), re.MULTILINE)

    def depends(self) -> list[Path]:
        """The source and every header of the tree that it includes, however far down."""
        folders = [Path(w[2:]) for w in shlex.split(self.command) if w.startswith(f"-I{ROOT}")]
        seen, open_files = {self.source}, [self.source]
        while open_files:
            file = open_files.pop()
            for name in INCLUDE.findall(file.read_text()):
                for folder in (file.parent, *folders):
                    header = (folder / name).resolve()
                    if header not in seen and header.is_file():
                        seen.add(header)
                        open_files.append(header)
        return sorted(seen)

    def key(self, version: str) -> str:
        digest = hashlib.sha256((version + self.command).encode())
        for file in (ROOT / ".clang-tidy", *self.depends()):
            digest.update(file.read_bytes())
        return digest.hexdigest()


def sources(file: Path) -> list[Path]:
    """What CMake has put into one file to be compiled at once; else that file."""
    if not re.fullmatch(r"unity_\d+_(c\.c|cxx\.cxx)", file.name):
        return [file]
    return [Path(name) for name in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)]


def units() -> list[Unit]:
    database = BUILD / "compile_commands.json"
    if not database.exists():
        raise SkippedError("build/compile_commands.json is missing; `make` writes it")
    entries = {
        source: entry["command"]
        for entry in json.loads(database.read_text())
        for source in sources(Path(entry["file"]))
    }
    return [
        Unit(file, command)
        for file, command in sorted(entries.items())
        if file.is_relative_to(ROOT) and TIDY_FOLDERS.match(file.relative_to(ROOT).as_posix())
    ]


def groups() -> list[list[Unit]]:
    """Parts of one folder with the same flags, some at once; all else alone."""

    def place(unit: Unit) -> tuple[Path, list[str]]:
        return unit.source.parent, unit.flags

    every = units()
    found = [[unit] for unit in every if not unit.is_part]
    for _, same in groupby(sorted((unit for unit in every if unit.is_part), key=place), key=place):
        parts = list(same)
        found += [parts[i : i + TIDY_AT_ONCE] for i in range(0, len(parts), TIDY_AT_ONCE)]
    return found


def clang_tidy() -> str:
    program = tool("clang-tidy")
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    clean = BUILD / "lint"
    clean.mkdir(exist_ok=True)

    def look(group: list[Unit]) -> str:
        key = hashlib.sha256("".join(unit.key(version) for unit in group).encode()).hexdigest()
        stamp = clean / key
        if stamp.exists():
            return ""
        together = clean / f"{key}{group[0].source.suffix}"
        allowed = "// NOLINT(bugprone-suspicious-include)"
        together.write_text("".join(f'#include "{unit.source}"  {allowed}\n' for unit in group))
        findings = run(program, "--quiet", *GCC_ONLY, *CLANG_ONLY, str(together), "--", *group[0].flags)
        together.unlink()
        if findings and len(group) > 1:  # perhaps only of their being together
            return "".join(look([unit]) for unit in group)
        if not findings:
            stamp.touch()
        return findings

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(look, groups()))


CHECKS: dict[str, Callable[[], str]] = {
    "clang-format": clang_format,
    "clang-tidy": clang_tidy,
    "codespell": codespell,
    "ruff": ruff,
    "mypy": mypy,
}


def main(names: list[str]) -> int:
    failed = False
    for name in names or list(CHECKS):
        try:
            findings = CHECKS[name]()
        except SkippedError as why:
            print(f"skipped: {name}: {why}", flush=True)
            continue
        failed |= bool(findings)
        print(f"{findings}FAILED: {name}" if findings else f"ok: {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

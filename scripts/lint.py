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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
# The compile commands are GCC's: what it alone knows is no finding.
GCC_ONLY = ("--extra-arg=-Wno-ignored-optimization-argument", "--extra-arg=-Wno-unknown-attributes")
TIDY_FOLDERS = ("src/", "tools/", "bench/", "model/")
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
    done = subprocess.run(
        command,
        cwd=ROOT,
        timeout=600,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return "" if done.returncode == 0 else done.stdout or f"{command[0]}: exit status {done.returncode}"


def clang_format() -> str:
    return run(tool("clang-format"), "--dry-run", "-Werror", *tracked("*.h", "*.hpp", "*.c", "*.cpp"))


def codespell() -> str:
    return run(tool("codespell"), *tracked())


def ruff() -> str:
    return run(tool("ruff"), "check", "-q", *tracked("*.py"))


def mypy() -> str:
    return run(tool("mypy"), "--no-error-summary", *tracked("*.py"))


@dataclass(frozen=True)
class Unit:
    """One source file as the build compiles it."""

    source: Path
    command: str

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


def units() -> list[Unit]:
    database = BUILD / "compile_commands.json"
    if not database.exists():
        raise SkippedError("build/compile_commands.json is missing; `make` writes it")
    entries = {Path(entry["file"]): entry["command"] for entry in json.loads(database.read_text())}
    return [
        Unit(file, command)
        for file, command in sorted(entries.items())
        if file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix().startswith(TIDY_FOLDERS)
    ]


def clang_tidy() -> str:
    program = tool("clang-tidy")
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    clean = BUILD / "lint"
    clean.mkdir(exist_ok=True)

    def look(unit: Unit) -> str:
        stamp = clean / unit.key(version)
        if stamp.exists():
            return ""
        findings = run(program, "--quiet", f"-p={BUILD}", *GCC_ONLY, str(unit.source))
        if not findings:
            stamp.touch()
        return findings

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(look, units()))


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

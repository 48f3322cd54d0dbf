#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs_test.py BUILD: every whole program in the README and the tutorial compiles without a warning and
runs on two ranks."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/tutorial.md")


def programs() -> list[tuple[str, str]]:
    """(where it stands, its text) of every C block that has a main function."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for match in re.finditer(r"^```c\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            if "int main(" in match[1]:
                found.append((f"{page}:{text.count(chr(10), 0, match.start()) + 2}", match[1]))
    return found


def run(*command: str | Path) -> str | None:
    """None if the command succeeds, else what it said."""
    done = subprocess.run(
        [str(word) for word in command], timeout=60, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return None if done.returncode == 0 else f"exit status {done.returncode}: {done.stdout}"


def main(build: Path) -> int:
    failures, found = 0, programs()
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "program.c"), Path(folder, "program")
        for where, text in found:
            source.write_text(text)
            wrong = run(
                "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program,
                f"-I{ROOT}/include", f"-L{build}/lib", "-lomnipgas", f"-Wl,-rpath,{build}/lib",
            ) or run(build / "bin/omplrun", "-n", "2", "--timeout", "30", program)  # fmt: skip
            failures += wrong is not None
            print(f"FAILED: {where}: {wrong}" if wrong else f"ok: {where}")
    if {where.split(":")[0] for where, _ in found} != set(PAGES):
        print(f"FAILED: not every page of {PAGES} has a program")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

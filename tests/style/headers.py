#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""headers.py ROOT: every public header, alone, is clean C11 (but for .hpp) and clean C++20 for gcc and for
clang."""

import shutil
import subprocess
import sys
from pathlib import Path

LANGUAGES = {"c": ("-std=c11", "gcc", "clang"), "c++": ("-std=c++20", "g++", "clang++")}
SUFFIXES = {"c": {".h"}, "c++": {".h", ".hpp"}}
SKIP = 77


def main(include: Path) -> int:
    headers = sorted(path.relative_to(include) for path in include.rglob("*.h*"))
    failures, missing = 0, set()
    for language, (standard, *compilers) in LANGUAGES.items():
        for compiler in compilers:
            if not shutil.which(compiler):
                missing.add(compiler)
                continue
            command = [compiler, "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic"]
            command += ["-Wshadow", "-Wconversion", "-fsyntax-only", f"-I{include}", "-"]
            for header in (h for h in headers if h.suffix in SUFFIXES[language]):
                done = subprocess.run(
                    command, input=f"#include <{header}>\n", text=True, timeout=240, check=False
                )
                failures += done.returncode != 0
                print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {compiler} {standard} {header}")
    if not headers:
        print(f"no headers below {include}")
        return 1
    if failures:
        return 1
    if missing:
        print(f"skipped: {', '.join(sorted(missing))} not installed")
        return SKIP
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1], "include")))

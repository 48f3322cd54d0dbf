#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""thread_pointer.py ROOT: what ompl_inline.h compiles into a task finds the thread that it runs in after each call that
may yield.

A task may go on in another thread after such a call, but compilers may keep the thread pointer, or an address made with
it, in a register. This looks at the machine code of three puts and a fence with waits between: on AArch64 each reads
the thread pointer for itself, on x86-64 each addresses by %fs."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77
TASK = """
#include <omnipgas/ompl_inline.h>
int task(uint64_t source, uint32_t to, uint64_t data, uint64_t flag, int many) {
  int code = ompl_put(source, to, data, 8);
  ompl_wait(flag);
  code += ompl_ctx_fence(OMPL_CTX_DEFAULT, to, OMPL_FOREVER);
  ompl_wait(flag);
  code += ompl_put(source, to, data, 8) + ompl_put_word(to, flag);
  ompl_wait(flag);
  while (many-- > 0) {
    code += ompl_put(source, to, data, 8);
    ompl_wait(flag);
  }
  return code;
}
"""
OPERATIONS = 4  # three puts and a fence
# The C library's headers of another machine may not be there; these are all that the header needs.
STRING_H = "#include <stddef.h>\nvoid* memcpy(void*, const void*, size_t);\n"
# Compiler, its options, the machine.
COMPILERS = [
    (["gcc"], "x86-64"),
    (["clang"], "x86-64"),
    (["clang", "--target=aarch64-linux-gnu", "-ffreestanding"], "aarch64"),
    (["aarch64-linux-gnu-gcc", "-ffreestanding"], "aarch64"),
]


def assembly(command: list[str], optimization: str, root: Path, folder: Path) -> str:
    """The machine code of the task."""
    own = [f"-isystem{folder}"] if "-ffreestanding" in command else []
    done = subprocess.run(
        [*command, optimization, "-fPIC", "-std=c11", *own, f"-I{root / 'include'}", "-S", "-o", "-", "-xc", "-"],
        input=TASK,
        text=True,
        capture_output=True,
        timeout=240,
        check=True,
    )
    return done.stdout


def wrong(code: str, machine: str) -> str:
    """What is wrong with it; "" if nothing is."""
    if machine == "x86-64":
        kept = re.search(r"mov\w*\s+%fs:0,.*", code)
        return f"keeps the thread pointer: {kept[0]}" if kept else ""
    reads = len(re.findall(r"\bmrs\s+x\d+, tpidr_el0", code, re.IGNORECASE))
    return "" if reads >= OPERATIONS else f"reads the thread pointer {reads} times for {OPERATIONS} operations"


def main(root: Path) -> int:
    failures, missing = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "string.h").write_text(STRING_H)
        for command, machine in COMPILERS:
            if not shutil.which(command[0]):
                missing.append(command[0])
                continue
            for optimization in ("-O1", "-O2", "-O3"):
                why = wrong(assembly(command, optimization, root, folder), machine)
                failures += why != ""
                print(f"{'FAILED' if why else 'ok'}: {' '.join(command)} {optimization}{': ' if why else ''}{why}")
    if failures:
        return 1
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return SKIP
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""same_test.py OMPLRUN RANKS REFERENCE PROGRAM... -- ARG...: the same example in another language says, line by
line, what the C program says; measured times and rates may differ. Status 77 if the program is not there."""

import re
import shutil
import subprocess
import sys

MEASURED = re.compile(r"\d+\.\d+ (us|MB/s)")


def said(launcher: str, ranks: str, *command: str) -> list[str]:
    """The lines of a job, in order of the ranks, without what was measured."""
    done = subprocess.run(
        [launcher, "-n", ranks, "--timeout", "240", *command], stdin=subprocess.DEVNULL, timeout=250, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return sorted(MEASURED.sub(r"# \1", line) for line in done.stdout.splitlines())


def main(launcher: str, ranks: str, reference: str, *rest: str) -> int:
    split = rest.index("--")
    program, arguments = rest[:split], rest[split + 1 :]
    if not shutil.which(program[0]):
        print(f"skipped: {program[0]} is not there; scripts/setup.sh check brings it")
        return 77
    wanted = said(launcher, ranks, reference, *arguments)
    found = said(launcher, ranks, *program, *arguments)
    print("\n".join(wanted))
    if not wanted or found != wanted:
        print("FAILED: it said instead:", *found, sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

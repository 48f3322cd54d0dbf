#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""faults_test.py OMPLRUN WORKER: the survivors of a killed rank end their tasks with an error and go on."""

import signal
import subprocess
import sys

RANKS = 3


def wrong(options: tuple[str, ...], arguments: tuple[str, ...]) -> str:
    """What is wrong with a job, "" if nothing is."""
    omplrun, worker = sys.argv[1:]
    command = [omplrun, "--keep-going", "--timeout", "240", "-n", str(RANKS), *options, worker, *arguments]
    done = subprocess.run(command, timeout=250, check=False, text=True, capture_output=True)
    survivors = sum(line.endswith("survived") for line in done.stdout.splitlines())
    if survivors != RANKS - 1:
        return f"{survivors} of {RANKS - 1} survivors\n{done.stdout}{done.stderr}"
    if done.returncode != 128 + signal.SIGKILL:
        return f"exit code {done.returncode}\n{done.stderr}"
    return ""


failures = 0
for threads in ("1", "4"):
    for executor in ("0", "1"):
        for options in ((), ("--node-of", "0,1,2"), ("--node-of", "0,0,1")):
            how = (f"threads={threads}", f"openmp={executor}")
            said = wrong(options, how)
            if "cannot be reached" in said:
                print("skipped: this build has no network for ranks of different nodes")
                sys.exit(77)
            if said:
                failures += 1
                print(f"FAILED: {options} {how}: {said}")
sys.exit(1 if failures else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report_test.py OMPLRUN WORKER: a job that hangs says which tasks wait for which tags and flags, at every rank."""

import os
import subprocess
import sys

omplrun, worker = sys.argv[1:]
environment = os.environ | {"OMPL_HANG_REPORT": "1", "OMPL_CONDUITS": "self,shm"}
wanted = [
    "[0]   waits for ever, tag 9, put_ready: waits for the end of the put of rank 1",
    "[1]   waits for ever, tag 9, put_ready: waits for the end of the put of rank 0",
    "[0]   listens, suspended: waits for a flag, offset 0x",
    "[0]   the first task, suspended: waits for its children",
    "[1] ompl[1] tasks: 2 thread(s)",
]
# The job hangs: it is ended as soon as all is said, and else by its limit.
command = [omplrun, "--timeout", "120", "-n", "2", worker, "case=3"]
with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
    assert job.stderr is not None
    said = []
    for line in job.stderr:
        said.append(line)
        wanted = [part for part in wanted if part not in line]
        if not wanted:
            job.terminate()
            break
    job.stderr.read()
if wanted:
    print("FAILED: not said:", *wanted, "said:", "".join(said), sep="\n")
    sys.exit(1)

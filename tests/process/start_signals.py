#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM and SIGINT at random moments of a job's start end it, whatever its libraries do with signals:
start_signals.py BUILD_DIR [--times N] [--seed S]. Each over memory and over each network, N times."""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

LIMIT_S = 240.0
MARK = "START_SIGNALS_TEST"


def marked(mark: str) -> list[int]:
    """The processes that have it in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has just ended
    return [pid for pid in found if pid != os.getpid()]


def networks(build: Path) -> list[str]:
    listed = subprocess.run([build / "bin/ompl-info"], text=True, capture_output=True, timeout=LIMIT_S, check=True)
    return ["tcp", *(name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed.stdout, re.MULTILINE))]


def once(build: Path, conduit: str, number: int, delay: float, mark: str) -> str:
    """What went wrong, if anything did."""
    environment = os.environ | {"OMPL_CONDUITS": f"self,{conduit}", "OMPL_SEGMENT_SIZE": "64M", mark: "1"}
    command = [str(build / "bin/omplrun"), "-n", "2", str(build / "bin/tests/rules_worker"), "late-thread"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
        time.sleep(delay)
        job.send_signal(number)
        try:
            _, errors = job.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            job.kill()
            return "it did not end"
    allowed = {0: "it had ended before", 128 + number: "", -number: "omplrun itself had hardly begun"}
    if job.returncode not in allowed:
        return f"it ended with {job.returncode}: {errors.decode(errors='replace')}"
    end = time.monotonic() + LIMIT_S
    while left := marked(mark):
        if time.monotonic() > end:
            return f"processes stay: {left}"
        time.sleep(0.01)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    build = args.build.resolve()
    moments = random.Random(args.seed)
    failed = 0
    for conduit in ("shm", *networks(build)):
        for number in (signal.SIGTERM, signal.SIGINT):
            slowest = 0.0
            for turn in range(args.times):
                delay = moments.uniform(0, 0.5)
                begin = time.monotonic()
                wrong = once(build, conduit, number, delay, f"{MARK}_{os.getpid()}_{turn}")
                slowest = max(slowest, time.monotonic() - begin - delay)
                if wrong:
                    failed += 1
                    print(f"{conduit}, {number.name} after {delay:.3f} s: {wrong}", flush=True)
            print(f"{conduit}, {number.name}: {args.times} times, the slowest end took {slowest:.1f} s", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_waits.py BUILD: many waits for memory that plain puts change, in jobs of many layouts, none of them lost.

    memory_waits.py build --record waits.jsonl                       # 10^8 waits and more
    memory_waits.py build 2x1:20000 4x2:8000                         # ranks x threads : waits
    memory_waits.py build --record waits.jsonl --minutes 10          # goes on where the record ends

The jobs are short, one layout after the other, until each has its waits. A line of the record tells of one job: its
layout, how many waits ended, how late the latest of them did after its put, and seconds. A wait that is lost ends its
job with an error, since it waits for 600 s at most."""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# 2 to 16 ranks of 1 to 8 threads. Most waits are those of two threads that need not share a core.
GOALS = {
    (2, 1): 50_000_000, (2, 2): 14_000_000, (2, 4): 4_000_000, (2, 8): 4_000_000,
    (4, 1): 14_000_000, (4, 2): 4_000_000, (4, 4): 2_000_000,
    (8, 1): 8_000_000, (8, 2): 1_000_000, (8, 8): 500_000,
    (16, 1): 2_000_000, (16, 2): 500_000, (16, 8): 250_000,
}  # fmt: skip
# Waits of one job at most.
PIECE = 1_000_000
JOB_SECONDS = 3600
SAID = re.compile(r"(\d+) waits, none lost; the latest ended ([\d.]+) ms after its put")


@dataclass(frozen=True)
class Layout:
    """A job, and how many waits of it are wanted."""

    ranks: int
    threads: int
    waits: int

    @property
    def name(self) -> str:
        """As it is written: ranks x threads."""
        return f"{self.ranks}x{self.threads}"

    def rounds(self, waits: int) -> int:
        """Rounds of each thread for so many waits."""
        everybody = self.ranks * self.threads
        return -(-min(waits, PIECE) // everybody)


def layout(text: str) -> Layout:
    """Reads RANKSxTHREADS:WAITS."""
    parts = re.fullmatch(r"(\d+)x(\d+):(\d+)", text)
    if parts is None or int(parts[1]) % 2 != 0 or 0 in map(int, parts.groups()):
        raise argparse.ArgumentTypeError(f"{text} is no RANKSxTHREADS:WAITS with an even number of ranks")
    return Layout(*map(int, parts.groups()))


def run(build: Path, one: Layout, waits: int, ahead: int | None) -> dict[str, Any]:
    """One job; ends the program if a wait was lost."""
    began = time.monotonic()
    form = [] if ahead is None else [str(ahead)]
    command = [build / "bin/omplrun", "-n", one.ranks, "--timeout", JOB_SECONDS,
               build / "bin/tests/memory_wait_worker", one.threads, one.rounds(waits), *form]  # fmt: skip
    environment = {"OMPL_CONDUITS": "self,shm", **os.environ}
    done = subprocess.run(
        [str(part) for part in command], env=environment, capture_output=True, text=True,
        timeout=JOB_SECONDS + 60, check=False,
    )  # fmt: skip
    said = SAID.search(done.stdout)
    if done.returncode != 0 or said is None:
        sys.exit(f"FAILED: {one.name}: {(done.stdout + done.stderr)[-2000:]}")
    seconds = round(time.monotonic() - began, 3)
    return {"layout": one.name, "ahead": ahead, "waits": int(said[1]), "latest_ms": float(said[2]), "seconds": seconds}


def report(record: list[dict[str, Any]]) -> None:
    """A line for each layout, and the sum."""
    for name in dict.fromkeys(one["layout"] for one in record):
        mine = [one for one in record if one["layout"] == name]
        waits, latest = sum(one["waits"] for one in mine), max(one["latest_ms"] for one in mine)
        seconds = sum(one["seconds"] for one in mine)
        print(f"{name:>5}: {waits:>11,} waits, none lost; the latest {latest:.3f} ms after its put; {seconds:.0f} s")
    print(f"  all: {sum(one['waits'] for one in record):>11,} waits")


def main() -> int:
    """Runs what the goals and the record leave to do; 1 if the time was too short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("goals", nargs="*", type=layout, help="RANKSxTHREADS:WAITS (default: more than 10^8 waits)")
    parser.add_argument("--record", type=Path, help="file to which each job adds its line, and in which a run goes on")
    parser.add_argument("--minutes", type=float, default=240, help="no job begins later (default: %(default)s)")
    parser.add_argument("--ahead", type=int, help="rounds that a put may be ahead of the wait (default: in turn)")
    options = parser.parse_intermixed_args()
    goals = options.goals or [Layout(*form, waits) for form, waits in GOALS.items()]
    end = time.monotonic() + 60 * options.minutes
    record: list[dict[str, Any]] = []
    if options.record is not None and options.record.exists():
        record = [json.loads(line) for line in options.record.read_text().splitlines()]
    done = Counter[str]()
    for one in record:
        done[one["layout"]] += one["waits"]
    open_goals = [goal for goal in goals if done[goal.name] < goal.waits]
    while open_goals and time.monotonic() < end:
        for goal in open_goals:
            if time.monotonic() >= end:
                break
            found = run(options.build, goal, goal.waits - done[goal.name], options.ahead)
            done[goal.name] += found["waits"]
            record.append(found)
            if options.record is not None:
                with options.record.open("a") as file:
                    file.write(json.dumps(found) + "\n")
        open_goals = [goal for goal in open_goals if done[goal.name] < goal.waits]
    report(record)
    missing = [f"{goal.name} {goal.waits - done[goal.name]:,}" for goal in open_goals]
    if missing:
        print(f"not yet done: {', '.join(missing)} waits; run it again with --record")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""xmp_times.py BUILD PREFIX [--rounds N] [--conduits LIST]: puts, gets, posts and synchronisation of XMP/C over this
project's back end beside libxmp's own over MPI-3. Each round runs both, in turn; the ratios are of one round, their
median is given with its interval of 95 % (bootstrap).
"""

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

import omni_compiler

PROGRAM = Path(__file__).resolve().parent / "programs/times.c"
DRAWS = 2000


def once(omni: omni_compiler.Omni, program: Path, conduits: str, settings: dict[str, str]) -> dict[str, float]:
    """The program's lines."""
    status, text = omni.execute(program, 2, conduits, **settings)
    if status != 0:
        sys.exit(f"{program}: exit status {status}\n{text}")
    words = (line.split() for line in text.splitlines())
    return {each[0]: float(each[1]) for each in words if len(each) == 2}


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, 95 %."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-DRAWS // 40]


def main() -> int:
    """Runs the rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--conduits", default="self,shm")
    parser.add_argument("--env", nargs="*", default=[], help="NAME=VALUE for both")
    options = parser.parse_args()
    settings = dict(each.split("=", 1) for each in options.env)
    ways = [omni_compiler.Omni(options.prefix.resolve(), options.build.resolve(), plain) for plain in (False, True)]
    if reason := omni_compiler.why_not(ways[0]):
        print(f"skipped: {reason}")
        return omni_compiler.SKIPPED
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as place:
        programs = [Path(place) / name for name in ("ours", "mpi3")]
        for way, program in zip(ways, programs, strict=True):
            status, text = way.compile([PROGRAM], program)
            if status != 0:
                sys.exit(f"{program} cannot be compiled:\n{text}")
        for number in range(options.rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            results = {each: once(ways[each], programs[each], options.conduits, settings) for each in order}
            rounds.append((results[0], results[1]))
    print(f"{'':18}{'ours ns':>12}{'MPI-3 ns':>12}   ratio")
    for name in rounds[0][0]:
        ours, theirs = ([side[name] for side in pair] for pair in zip(*rounds, strict=True))
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        low, high = interval(ratios)
        print(f"{name:18}{statistics.median(ours):12.0f}{statistics.median(theirs):12.0f}"
              f"   {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

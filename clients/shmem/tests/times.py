#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""times.py BUILD [--other NAME OSHCC OSHRUN]...: barriers, reductions, puts, gets and atomics of this OpenSHMEM, beside
others.

OSHCC and OSHRUN are commands, with their options: --other debian oshcc "oshrun --oversubscribe --bind-to none". Each
round runs all libraries, in turn; a ratio is that of one round, this library's time over the other's. The median is
given with its interval of 95 % (bootstrap). Variables, as OMPL_CONDUITS, are those of the caller.
"""

import argparse
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "times.c"
LIMIT_S = 240
DRAWS = 2000

Times = dict[str, float]  # nanoseconds by operation


def run(command: list[str]) -> str:
    """What a command says; the end of this program, if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        sys.exit(f"{shlex.join(command)}: not ended after {LIMIT_S} s")
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def once(launch: str, program: Path, pes: int, seconds: float) -> Times:
    """The program's lines."""
    words = (
        line.split() for line in run([*shlex.split(launch), "-n", str(pes), str(program), str(seconds)]).splitlines()
    )
    return {each[0]: float(each[1]) for each in words if len(each) == 2}


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-DRAWS // 40]


def print_table(rounds: list[list[Times]], names: list[str]) -> None:
    """Times of all libraries, and the ratios of the first to each of the others."""
    print(f"{'':22}" + "".join(f"{name + ' ns':>14}" for name in names) + "   ratios")
    for operation in rounds[0][0]:
        times = [[each[which][operation] for each in rounds] for which in range(len(names))]
        line = f"{operation:22}" + "".join(f"{statistics.median(each):14.1f}" for each in times)
        for other in times[1:]:
            ratios = [a / b for a, b in zip(times[0], other, strict=True)]
            low, high = interval(ratios)
            line += f"   {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]"
        print(line)


def main() -> int:
    """Runs the rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--other", nargs=3, action="append", default=[], metavar=("NAME", "OSHCC", "OSHRUN"))
    parser.add_argument("--pes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each operation; default %(default)s")
    options = parser.parse_args()
    tools = options.build.resolve() / "bin"
    libraries = [["ours", str(tools / "oshcc"), str(tools / "oshrun")], *options.other]
    rounds: list[list[Times]] = []
    with tempfile.TemporaryDirectory() as place:
        programs = [Path(place) / name for name, _, _ in libraries]
        for (_, compiler, _), program in zip(libraries, programs, strict=True):
            run([*shlex.split(compiler), "-O2", "-w", str(PROGRAM), "-o", str(program)])
        for number in range(options.rounds):
            order = range(len(libraries)) if number % 2 == 0 else reversed(range(len(libraries)))
            found = {each: once(libraries[each][2], programs[each], options.pes, options.seconds) for each in order}
            rounds.append([found[each] for each in range(len(libraries))])
    print_table(rounds, [name for name, _, _ in libraries])
    return 0


if __name__ == "__main__":
    sys.exit(main())

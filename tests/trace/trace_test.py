#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of programs that know what they did, under one MPI: every record is held against what the program says.

trace_test.py NAME BUILD_DIR [--prefix PREFIX] [--long]

NAME and PREFIX as in launcher_test.py. The programs beside this file are compiled with the MPI's wrappers and run with
its interposer preloaded; each thread of each rank writes what it expects of its records (expect.h)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "process"), str(HERE.parents[1] / "python")]

from launcher_test import Mpi, find_mpi_or_skip, leftovers, remove_orphans  # noqa: E402
from omnipgas.model import tracers  # noqa: E402

LIMIT = 60  # seconds
SAME_NAME = {"mpich": "mpich-debian", "openmpi": "openmpi-debian", "mpich5": "mpich", "mpich5_abi": "mpich-abi"}
SAME_NAME |= {"openmpi5": "openmpi", "impi": "intel"}
# Open MPI 5 else spins wherever it waits, with more ranks than cores.
SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_WAIT_MODE": "1"}

MPI: Mpi
ARGUMENTS: argparse.Namespace
FOLDER = Path()
Line = dict[str, Any]


@dataclass
class Trace:
    """What ompl_trace_dump says of a trace."""

    calls: dict[tuple[int, int], list[Line]] = field(default_factory=lambda: defaultdict(list))  # by rank and thread
    communicators: dict[tuple[int, int], Line] = field(default_factory=dict)  # by rank and id
    windows: dict[tuple[int, int], Line] = field(default_factory=dict)
    sites: dict[tuple[int, int], Line] = field(default_factory=dict)


def dump(*arguments: str | Path, fails: bool = False) -> list[str]:
    """The lines of ompl_trace_dump, or what it says if it is to fail."""
    command = [ARGUMENTS.build / "bin/ompl_trace_dump", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{done.args}: {done.returncode}\n{done.stderr}")
    return (done.stderr if fails else done.stdout).splitlines()


def read(folder: Path) -> Trace:
    trace = Trace()
    for line in map(json.loads, dump(folder)):
        if "call" in line and line["call"] != "Tracer":
            trace.calls[line["rank"], line["thread"]].append(line)
        for kind in ("communicator", "window"):
            if kind in line:
                getattr(trace, kind + "s")[line["rank"], line[kind]] = line
        if "site" in line and isinstance(line["site"], dict):
            trace.sites[line["rank"], line["site"]["id"]] = line["site"]
    return trace


class Traced(unittest.TestCase):
    """Runs programs under the tracer."""

    def setUp(self) -> None:
        self.addCleanup(lambda before: remove_orphans(leftovers() - before), leftovers())
        self.folder = Path(tempfile.mkdtemp(dir=FOLDER))

    def run_program(self, name: str, *arguments: str, ranks: int = 2, ok: bool = True) -> subprocess.CompletedProcess[str]:
        env = tracers.choose(ARGUMENTS.build, [], SAME_NAME[ARGUMENTS.name]).environment(self.folder)
        command = [*MPI.launchers[0].command, "-n", str(ranks), str(FOLDER / name), *arguments]
        done = subprocess.run(
            command,
            env=env | SETTINGS | {"EXPECT_DIR": str(self.folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if ok:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("ompl trace", done.stderr)
        return done

    def traced(self, name: str, *arguments: str, ranks: int = 2) -> Trace:
        """The trace of a program, every record of which was what the program expected."""
        self.run_program(name, *arguments, ranks=ranks)
        trace = read(self.folder)
        compared = 0
        for rank in range(ranks):
            numbers: dict[int, int] = {}  # the program's requests by their ids in the trace
            for path in sorted(self.folder.glob(f"{rank}.*")):
                thread = int(path.suffix[1:])
                expected = [json.loads(line) for line in path.read_text().splitlines()]
                compared += self.compare(expected, trace.calls[rank, thread], numbers, f"rank {rank}.{thread}")
            self.assertEqual(len(list(self.folder.glob(f"{rank}.*"))), len([key for key in trace.calls if key[0] == rank]))
        self.assertGreater(compared, 2 * ranks)
        return trace

    def compare(self, expected: list[Line], calls: list[Line], numbers: dict[int, int], where: str) -> int:
        names = [line["call"] for line in expected], [line["call"] for line in calls]
        for number, (want, have) in enumerate(zip(expected, calls, strict=False)):
            with self.subTest(f"{where}, call {number}", expected=want, traced=have):
                self.same(want, have, numbers)
        self.assertEqual(names[0], names[1], where)
        return len(expected)

    def same(self, want: Line, have: Line, numbers: dict[int, int]) -> None:
        several = "several" in have["flags"]
        matches = have.get("matches", [])
        if have["call"] in ("Sendrecv", "SendrecvReplace", "Isendrecv"):
            named = [have["request"]]
        elif several:
            named = have.get("ids", []) + [match["request"] for match in matches]
        else:
            named = [have["request"]] if have["request"] else []
        for key, value in want.items():
            if key == "posts":
                self.assertNotIn(have["request"], numbers)
                numbers[have["request"]] = value
            elif key in ("completes", "starts"):
                self.assertCountEqual([numbers[one] for one in named], value)
            elif key == "includes":
                self.assertIn(value, [numbers.get(one) for one in named])
            elif key == "count":
                self.assertEqual(len(named), value)
            elif key == "flags_include":
                self.assertEqual("completed" in have["flags"], value)
            elif key == "matches":
                self.assertEqual(len(matches), len(value))
                for one in value:
                    posted = one.pop("posted", None)
                    [match] = [m for m in matches if posted is None or numbers[m["request"]] == posted]
                    self.assertEqual({name: match[name] for name in one}, one)
            else:
                self.assertEqual(have.get(key, []), value, key)


class Quick(Traced):
    def test_messages(self) -> None:
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.folder = Path(tempfile.mkdtemp(dir=FOLDER))
                self.traced("messages", ranks=ranks)


def compile_programs() -> None:
    for source in sorted(HERE.glob("*.c")):
        target = str(FOLDER / source.stem)
        command = [MPI.mpicc, "-O1", "-g", "-Wall", "-Wextra", "-Werror", str(source), "-o", target, "-lpthread"]
        subprocess.run(command, timeout=LIMIT, check=True)


def main() -> None:
    global ARGUMENTS, MPI, FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    ARGUMENTS = parser.parse_args()
    MPI = find_mpi_or_skip(ARGUMENTS.name, ARGUMENTS.prefix)
    signal.alarm(900 if ARGUMENTS.long else 280)
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        compile_programs()
        case = "Long" if ARGUMENTS.long else "Quick"
        test = f"{case}.{ARGUMENTS.only}" if ARGUMENTS.only else case
        program = unittest.main(argv=sys.argv[:1], defaultTest=test, verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

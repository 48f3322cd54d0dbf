# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of traces are made of: programs compiled for one MPI and run with its interposer; traces read."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2] / "tests/process"), str(HERE.parents[1] / "omni")]

from launcher_test import Mpi, leftovers, remove_orphans  # noqa: E402
from omnipgas_tools.libraries.compilers import SKIP_CXX  # noqa: E402
from omnipgas_tools.model import tracers  # noqa: E402

LIMIT = 240  # seconds
INTERPOSER = {"mpich": "mpich-debian", "openmpi": "openmpi-debian", "mpich5": "mpich", "mpich5_abi": "mpich-abi"}
INTERPOSER |= {"openmpi5": "openmpi", "impi": "intel"}
# Open MPI 5 else spins wherever it waits, with more ranks than cores.
SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_WAIT_MODE": "1"}
# Open MPI 4's default for windows crashes in one_sided.c, with a tracer and without.
OF_ONE = {"openmpi": {"OMPI_MCA_osc": "pt2pt"}}

Line = dict[str, Any]
Done = subprocess.CompletedProcess[str]


class Run:
    """What this run tests; set before the first test."""

    mpi: Mpi
    name: str
    prefix: str
    build: Path
    python: str
    folder: Path


@dataclass
class Trace:
    """What ompl_trace_dump says of a trace."""

    calls: dict[tuple[int, int], list[Line]] = field(default_factory=lambda: defaultdict(list))  # by rank and thread
    communicators: dict[tuple[int, int], Line] = field(default_factory=dict)  # by rank and id
    windows: dict[tuple[int, int], Line] = field(default_factory=dict)
    sites: dict[tuple[int, int], Line] = field(default_factory=dict)


def run(command: Sequence[str | Path], **how: Any) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **how)


def dump(*arguments: str | Path, fails: bool = False) -> list[str]:
    """The lines of ompl_trace_dump, or what it says if it is to fail."""
    command = [Run.build / "bin/ompl_trace_dump", *arguments]
    done = run(command)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{done.args}: {done.returncode}\n{done.stderr}")
    return (done.stderr if fails else done.stdout).splitlines()


def read(folder: Path) -> Trace:
    trace = Trace()
    for line in map(json.loads, dump(folder)):
        if "call" in line and line["call"] != "Tracer":
            times = 1
            if "repeated" in line["flags"]:  # tests that found nothing, in a row
                line["flags"].remove("repeated")
                times, line["bytes"] = line["bytes"], 0
            trace.calls[line["rank"], line["thread"]] += [line] * times
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
        self.folder = Path(tempfile.mkdtemp(dir=Run.folder))

    def run_program(self, name: str, *arguments: str, ranks: int = 2, ok: bool = True) -> Done:
        env = tracers.choose(Run.build, [], INTERPOSER[Run.name]).environment(self.folder)
        command = [*Run.mpi.launchers[0].command, "-n", str(ranks), program(name), *arguments]
        env |= SETTINGS | OF_ONE.get(Run.name, {}) | {"EXPECT_DIR": str(self.folder)}
        done = run(command, env=env, stdin=subprocess.DEVNULL)
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
            threads = [thread for of, thread in trace.calls if of == rank]
            self.assertEqual(len(list(self.folder.glob(f"{rank}.*"))), len(threads))
        self.assertGreater(compared, 2 * ranks)
        return trace

    def taken_for_computation(self) -> set[str]:
        """What the replay of the trace does not model."""
        return set(self.replayed()["not_modelled"])

    def replayed(self) -> dict[str, Any]:
        """The replay of the trace, in which every message finds its partner."""
        model = Run.build / "bin/ompl-model"
        done = run([model, "predict", self.folder, "--params", "myrinet", "--no-sensitivity"])
        self.assertEqual(done.returncode, 0, done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)
        self.assertGreater(found["messages"], 0)
        self.assertEqual(found["unmatched"], [])
        return found

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


def compile_fortran(name: str) -> str:
    """Compiles a Fortran program; else why that cannot be."""
    source, target = str(HERE / "programs" / f"{name}.f90"), str(Run.folder / name)
    if Run.name == "impi":
        if shutil.which("gfortran") is None:
            return "no gfortran"
        asked = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True, check=True)
        prefix = Path(Run.prefix)
        modules = sorted(prefix.glob(f"include/mpi/gfortran/{asked.stdout.strip().split('.')[0]}.*"))
        if not modules or not (modules[-1] / f"mpi{'_f08' * (name == 'fortran08')}.mod").is_file():
            return "no gfortran for which Intel MPI has this module"
        links = [f"-L{prefix}/lib", "-lmpifort", "-lmpi", f"-Wl,-rpath,{prefix}/lib", "-Wl,--disable-new-dtags"]
        command = ["gfortran", f"-I{modules[-1]}", f"-I{prefix}/include", source, "-o", target, *links]
    else:
        compiler = Run.mpi.mpicc.replace("mpicc", "mpifort")
        if shutil.which(compiler) is None:
            return f"this MPI has no Fortran compiler: no {compiler}"
        command = [compiler, source, "-o", target]
    subprocess.run([*command, "-O1", "-g", "-Wall", "-Werror"], timeout=LIMIT, check=True)
    return ""


def program_without_mpi(name: str) -> str:
    """A program that is compiled without MPI."""
    target = str(Run.folder / name)
    source = str(HERE / "programs" / f"{name}.c")
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", source, "-o", target, "-ldl"], timeout=LIMIT, check=True)
    return target


def program_as_library(name: str) -> str:
    """A program of this MPI as a library, whose module_main() is what was main()."""
    target = str(Run.folder / f"lib{name}.so")
    source = str(HERE / "programs" / f"{name}.c")
    options = ["-shared", "-fPIC", "-Dmain=module_main", "-O1", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
    subprocess.run([Run.mpi.mpicc, *options, source, "-o", target, "-lpthread", "-lm"], timeout=LIMIT, check=True)
    return target


def program(name: str) -> str:
    """A program of this MPI, compiled when it is first asked for; what is a path already stays."""
    target = Run.folder / name
    if target.exists():
        return str(target)
    folders = (HERE / "programs", HERE.parents[2] / "examples/mpi")
    [source] = [path for folder in folders for path in folder.glob(f"{name}.c*")]
    compiler = Run.mpi.mpicc.replace("mpicc", "mpicxx") if source.suffix == ".cpp" else Run.mpi.mpicc
    # GCC takes constants like MPI_STATUSES_IGNORE and MPI_UNWEIGHTED for arrays.
    options = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread"]
    options += SKIP_CXX
    command = [compiler, *options, str(source), "-o", str(target), "-lpthread", "-lm"]
    subprocess.run(command, timeout=LIMIT, check=True)
    return str(target)

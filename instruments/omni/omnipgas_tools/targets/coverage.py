# SPDX-License-Identifier: BSD-3-Clause
"""Which function of the public headers the tests run over which conduit, and how much of src/ they run.

Measured with gcc's counters in a build of its own (preset `coverage`): per conduit the conformance suite and, where
the conduit joins processes here, a job; then every test. gcovr reads the counters. Verbs goes over the stand-in for its
library, uTofu over the emulator, mpi over MPICH 5, PSM2 over its shared memory. Soft-RoCE needs a virtual machine: that
column has what the tests that were run there use, counted over the stand-in.

What ran over a conduit is kept in the build (parts/CONDUIT.json), so that the table can be made conduit by conduit:

    python3 -m omnipgas_tools.targets.coverage --conduits shm,verbs    # runs these, then prints all that is kept
    python3 -m omnipgas_tools.targets.coverage --missing               # runs those of which nothing is kept
    python3 -m omnipgas_tools.targets.coverage --conduits "" --page docs/results/coverage.md
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnipgas_tools import CHECKOUT, files
from omnipgas_tools.report.table import markdown
from omnipgas_tools.targets.measurement import NotMeasuredError

HEADERS = ("ompl.h", "ompl_ext.h", "ompl_memory.h", "ompl_calls.h", "ompl_report.h", "halo.h", "coll.h")
# The counters of a process that ends by _Exit are lost.
ENDS = "ends the process, and its counters with it: test `rules` (abort)"
ONE_RANK = "the tests of it need several ranks"
NO_PROCESS = "its ranks are threads of a test, which start no job"


@dataclass(frozen=True)
class Suite:
    """What runs the functions over a conduit."""

    tests: str = ""  # names of ctest, a regular expression
    program: str = ""  # that runs the suite, in bin/tests; none: conformance_CONDUIT
    only: str = ""  # tests of the program that are run instead, a filter of GoogleTest
    environment: Mapping[str, str] = field(default_factory=dict)  # of the program, and of the job
    ranks: int = 0  # of a job of the process rules; 0: there is none


# Tests noted by name that passed on Soft-RoCE on 29 November 2026, in the small virtual machine.
RUN_ON_SOFT_ROCE = ("Calls_", "Packing_", "LocalMemory_", "TeamMemory_", "Adoption_", "MemoryWaits_", "ProgressThread_",
                    "Atomics_", "Order_", "Quiet_", "Fence_", "SharedContext_", "Nonblocking_ASource",
                    "Job_R29_")  # fmt: skip
STAND_IN = "tests/conduits/verbs/stub"  # of the build
CONDUITS = {
    "self": Suite("^conformance_self$", ranks=1, environment={"OMPL_CONDUITS": "self"}),
    "shm": Suite("^conformance_shm$", ranks=2, environment={"OMPL_CONDUITS": "self,shm"}),
    "ofi": Suite("^conformance_ofi$", ranks=2, environment={"OMPL_CONDUITS": "self,ofi"}),
    "ucx": Suite("^conformance_ucx$", ranks=2, environment={"OMPL_CONDUITS": "self,ucx", "UCX_TLS": "tcp"}),
    "tcp": Suite("^conformance_tcp$", ranks=2, environment={"OMPL_CONDUITS": "self,tcp"}),
    "psm2": Suite("^(conformance_psm2|psm2_job)$", "psm2_rules"),
    "verbs": Suite("^conformance_verbs$"),
    "Soft-RoCE": Suite("", "conformance_verbs", ":".join(f"verbs/Conformance.{name}*" for name in RUN_ON_SOFT_ROCE),
                       {"LD_LIBRARY_PATH": STAND_IN}),
    "mpi": Suite("^mpi_conduit_mpich5$"),
    "utofu": Suite("^(conformance_utofu|utofu_job)$"),
    "mock": Suite("^conformance_mock$"),
}  # fmt: skip
# Why a cell is empty: of some functions, and of all others of a conduit.
REASONS = {
    **{(function, conduit): ENDS for function in ("ompl_abort", "ompl_job_exit") for conduit in CONDUITS},
    **{(function, conduit): NO_PROCESS
       for function in ("ompl_abort", "ompl_job_exit", "ompl_init", "ompl_finalize")
       for conduit in ("verbs", "Soft-RoCE", "mock")},
    **{(function, "self"): ONE_RANK for function in ("ompl_request_wait_all", "ompl_team_world_rank")},
}  # fmt: skip
REASONS_OF_ALL = {
    "Soft-RoCE": "none of the tests that were run on Soft-RoCE that day uses it; `verbs_vm_all_rules` would",
}


def reason(function: str, conduit: str) -> str:
    """Why a function does not run over a conduit; "": there is no reason."""
    return REASONS.get((function, conduit)) or REASONS_OF_ALL.get(conduit, "")


@dataclass
class Part:
    """What ran in one measurement."""

    functions: set[str]  # of the C API
    lines: dict[str, tuple[set[int], set[int]]]  # per file of src/: that ran, and all
    noted: bool = False  # the functions were not counted, but noted in a release build: there are no lines

    def write(self, file: Path) -> None:
        """Keeps it."""
        lines = {name: [sorted(ran), sorted(every)] for name, (ran, every) in self.lines.items()}
        file.parent.mkdir(exist_ok=True)
        files.write(file, json.dumps({"functions": sorted(self.functions), "lines": lines, "noted": self.noted}))

    @classmethod
    def kept(cls, file: Path) -> "Part":
        """What was written."""
        found = json.loads(file.read_text())
        lines = {name: (set(a), set(b)) for name, (a, b) in found["lines"].items()}
        return cls(set(found["functions"]), lines, found["noted"])

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> "Part":
        """What a report of gcovr says."""
        part = cls(set(), {})
        for file in report["files"]:
            for function in file["functions"]:
                name = re.match(r"ompl_\w+", function.get("demangled_name") or function["name"])
                if name and function.get("execution_count", 0) > 0:
                    part.functions.add(name.group())
            known = [line for line in file["lines"] if not line.get("gcovr/noncode")]
            part.lines[file["file"]] = (
                {line["line_number"] for line in known if line["count"] > 0},
                {line["line_number"] for line in known},
            )
        return part


@dataclass
class Coverage:
    """What was found."""

    functions: list[str]  # of the headers, in their order
    ran: dict[str, set[str]] = field(default_factory=dict)  # per conduit
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)  # per folder of src: covered, all
    noted: list[str] = field(default_factory=list)  # conduits of which the functions were noted, not counted
    every_test: bool = False  # the lines are those of every test, not of the conduits' alone

    def add_lines(self, parts: Sequence[Part]) -> None:
        """Counts what any of the parts has run."""
        ran: dict[str, set[int]] = defaultdict(set)
        every: dict[str, set[int]] = defaultdict(set)
        for part in parts:
            for name, (some, all_of_it) in part.lines.items():
                ran[name] |= some
                every[name] |= all_of_it
        for name, numbers in every.items():
            folder = "/".join(Path(name).parts[1:-1])
            if folder == "conduit/mock" or "tests" in folder.split("/"):
                continue
            covered, total = self.lines.get(folder, (0, 0))
            self.lines[folder] = covered + len(ran[name]), total + len(numbers)

    def empty_cells(self) -> list[tuple[str, str]]:
        """Functions that did not run over a conduit, without a reason."""
        return [
            (function, conduit)
            for function in self.functions
            for conduit, ran in self.ran.items()
            if function not in ran and not reason(function, conduit)
        ]

    def percent(self) -> float:
        """Lines of src/ that ran."""
        covered = sum(c for c, _ in self.lines.values())
        return 100 * covered / max(1, sum(n for _, n in self.lines.values()))

    def page(self) -> str:
        """docs/results/coverage.md."""
        conduits = list(self.ran)
        rows: list[list[str]] = []
        notes: list[str] = []
        for function in self.functions:
            cells = []
            for conduit in conduits:
                why = reason(function, conduit)
                if function in self.ran[conduit]:
                    cells.append("ran")
                elif why:
                    notes += [] if why in notes else [why]
                    cells.append(f"({notes.index(why) + 1})")
                else:
                    cells.append("**no**")
            rows.append([f"`{function}`", *cells])
        explained = [f"({i}) {why}" for i, why in enumerate(notes, 1)]
        text = "\n".join([*markdown(["function", *conduits], rows), "", *explained])
        share = [
            [name, str(covered), str(total), f"{100 * covered / total:.1f} %"]
            for name, (covered, total) in sorted(self.lines.items())
        ]
        lines = "\n".join(markdown(["folder", "lines that ran", "lines", ""], share))
        of = "the tests of `make check`" if self.every_test else "the conduits' tests above"
        noted = NOTED.format(", ".join(self.noted)) if self.noted else ""
        share_of_lines = f"\n{LINES.format(self.percent(), of)}\n{lines}\n" if self.lines else ""
        return f"{INTRODUCTION}{noted}\n{text}\n{share_of_lines}"


INTRODUCTION = """# Coverage

Generated by `omni figures --groups coverage --publish`, or by
`python3 -m omnipgas_tools.targets.coverage --page`; do not edit. `ran`: it ran in the conformance
suite, or in a job of the process rules, over that conduit. Verbs is the stand-in for its library,
uTofu the emulator, mpi MPICH 5, psm2 without a card. Soft-RoCE is verbs in a virtual machine: what
the tests that passed there use, counted over the stand-in.
"""
NOTED = """
Over {} the functions were noted by a trampoline that the linker's
`--wrap` puts before each of them, in release builds of the same programs; not by counters.
"""
LINES = """## Lines of src/

{:.1f} % of all lines (the mock left out), by {}.
"""


def exported(include: Path) -> list[str]:
    """The functions of the public headers, in their order."""
    names: list[str] = []
    for header in HEADERS:
        names += re.findall(r"^OMPL_API\b[^;(]*?\b(ompl_\w+)\(", (include / header).read_text(), re.MULTILINE)
    return names


class Counters:
    """The build with counters."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        self.root, self.say = root, say
        self.build = root / "build" / "coverage"

    def run(self, what: str, command: Sequence[str], limit: float, **environment: str) -> str:
        """Runs a step and returns what it prints; its failure is an error, with the end of its output."""
        self.say(f"coverage: {what}")
        done = subprocess.run(
            command, cwd=self.root, env={**os.environ, **environment}, capture_output=True, text=True,
            timeout=limit, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise NotMeasuredError(f"{what} failed: {(done.stdout + done.stderr)[-2000:]}")
        return done.stdout

    def compile(self) -> None:
        """Builds everything."""
        self.run("configuring", ["cmake", "--preset", "coverage"], 120)
        jobs = str(os.cpu_count() or 1)
        self.run("building", ["cmake", "--build", str(self.build), "-j", jobs], 1800)

    def reset(self) -> None:
        """Sets all counters to zero."""
        for counters in self.build.rglob("*.gcda"):
            counters.unlink()

    def read(self) -> Part:
        """What gcovr makes of the counters of src/."""
        report = self.build / "gcovr.json"
        self.run("reading the counters", [
            sys.executable, "-m", "gcovr", "--root", str(self.root), "--filter", "src/", "--json", str(report),
            "--gcov-ignore-parse-errors", "negative_hits.warn", str(self.build / "src"),
        ], 1200)  # fmt: skip
        return Part.of(json.loads(report.read_text()))

    def part(self, conduit: str) -> Path:
        """Where it is kept what ran over a conduit."""
        return self.build / "parts" / f"{conduit}.json"


def cover(counters: Counters, conduit: str) -> bool:
    """Runs the functions over a conduit; False if it is not in this build, or not on this machine."""
    suite = CONDUITS[conduit]
    program = counters.build / "bin" / "tests" / (suite.program or f"conformance_{conduit}")
    if not program.exists():
        counters.say(f"coverage: {conduit} is not in this build")
        return False
    what = f"the conformance suite over {conduit}"
    if suite.tests:
        tests = ["ctest", "--test-dir", str(counters.build), "--no-tests=error", "-R", suite.tests]
        if "(Skipped)" in counters.run(what, tests, 5400):
            counters.say(f"coverage: {conduit} is not on this machine")
            return False
    else:
        where = {name: str(counters.build / folder) for name, folder in suite.environment.items()}
        counters.run(what, [str(program), "--gtest_brief=1", f"--gtest_filter={suite.only}"], 3600, **where)
    if suite.ranks:
        job = [str(counters.build / "bin/omplrun"), "-n", str(suite.ranks),
               str(counters.build / "bin/tests/rules_worker"), "thread-exit"]  # fmt: skip
        counters.run(f"a job over {conduit}", job, 120, **suite.environment)
    return True


def run(counters: Counters, conduits: Sequence[str]) -> None:
    """Runs the functions over each of the conduits that are here, and keeps what ran; what was kept of others stays."""
    for conduit in conduits:
        counters.reset()
        if cover(counters, conduit):
            counters.read().write(counters.part(conduit))


def table(counters: Counters) -> Coverage:
    """What is kept of all conduits."""
    coverage = Coverage(exported(counters.root / "include" / "omnipgas"))
    parts = {name: Part.kept(counters.part(name)) for name in CONDUITS if counters.part(name).exists()}
    coverage.ran = {name: part.functions for name, part in parts.items()}
    coverage.noted = [name for name, part in parts.items() if part.noted]
    coverage.add_lines(list(parts.values()))
    return coverage


def measure(root: Path, say: Callable[[str], None]) -> Coverage:
    """Builds, runs and reads; about half an hour on two cores."""
    counters = Counters(root, say)
    counters.compile()
    for conduit in CONDUITS:
        counters.part(conduit).unlink(missing_ok=True)
    run(counters, list(CONDUITS))
    coverage = table(counters)
    counters.reset()
    tests = ["ctest", "--test-dir", str(counters.build), "-LE", "^(long|style)$", "-j", "2"]
    counters.run("every test", tests, 2400)
    coverage.lines, coverage.every_test = {}, True
    coverage.add_lines([counters.read()])
    return coverage


def main(arguments: Sequence[str]) -> int:
    """The table of what is kept and of some conduits that are run now, in a build that exists. The number of empty
    cells without a reason is the status."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--conduits", help='comma-separated, to be run (default: all; "": none)')
    parser.add_argument("--missing", action="store_true", help="run only those of which nothing is kept")
    parser.add_argument("--page", type=Path, help="file that receives the table (default: it is printed)")
    options = parser.parse_args(arguments)
    named = ",".join(CONDUITS) if options.conduits is None else options.conduits
    wanted = [name for name in named.split(",") if name]
    if unknown := [name for name in wanted if name not in CONDUITS]:
        parser.error(f"no conduit {', '.join(unknown)}; there are {', '.join(CONDUITS)}")
    counters = Counters(CHECKOUT, lambda what: print(what, file=sys.stderr, flush=True))
    run(counters, [name for name in wanted if not (options.missing and counters.part(name).exists())])
    coverage = table(counters)
    if options.page is not None:
        files.write(options.page, coverage.page())
    else:
        print(coverage.page())
    return min(100, len(coverage.empty_cells()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of programs that know what they did, under one MPI: every record is held against what the program says.

trace_test.py NAME BUILD_DIR [--prefix PREFIX] [--python PYTHON] [--only CASE...]

NAME and PREFIX as in launcher_test.py. Those in programs/ are compiled with the MPI's wrappers and run with
its interposer preloaded; each thread of each rank writes what it expects of its records (expect.h)."""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
# Open MPI 4's default for windows crashes in one_sided.c, with a tracer and without.
OF_ONE = {"openmpi": {"OMPI_MCA_osc": "pt2pt"}}
MILLION = 1_000_000

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
            env=env | SETTINGS | OF_ONE.get(ARGUMENTS.name, {}) | {"EXPECT_DIR": str(self.folder)},
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


class Calls(Traced):
    def test_messages(self) -> None:
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.folder = Path(tempfile.mkdtemp(dir=FOLDER))
                self.traced("messages", ranks=ranks)

    def test_collectives(self) -> None:
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.folder = Path(tempfile.mkdtemp(dir=FOLDER))
                self.traced("collectives", ranks=ranks)

    def test_requests_that_move(self) -> None:
        self.traced("moved")

    def test_one_sided(self) -> None:
        trace = self.traced("one_sided")
        for rank in range(2):
            self.assertEqual([trace.windows[rank, window]["bytes"] for window in (1, 2)], [800, 800])

    def test_threads(self) -> None:
        trace = self.traced("threads", "4", "50")
        for rank in range(2):
            self.assertEqual(sorted(thread for of, thread in trace.calls if of == rank), [1, 2, 3, 4, 5])

    def test_communicators(self) -> None:
        trace = self.traced("communicators", ranks=4)
        members: dict[int, set[tuple[int, ...]]] = defaultdict(set)  # of each global id, as ranks of MPI_COMM_WORLD
        users: dict[int, set[int]] = defaultdict(set)
        for (rank, _), comm in trace.communicators.items():
            ranks = tuple(comm["ranks"]) or tuple(range(4))
            self.assertEqual(ranks[comm["own_rank"]], rank)
            both = tuple(sorted([ranks, tuple(comm["remote_ranks"])]))
            members[comm["global"]].add(both)
            users[comm["global"]].add(rank)
        for one, of in members.items():  # all its members, and nobody else, call a communicator by this id
            [both] = of
            self.assertEqual(users[one], {rank for side in both for rank in side})
        made = [(comm["made_by"], comm["ranks"] or [0, 1, 2, 3]) for (rank, _), comm in trace.communicators.items() if rank == 2]
        self.assertEqual(
            made,
            [
                ("Init", [0, 1, 2, 3]),
                ("Init", [2]),
                ("CommDup", [0, 1, 2, 3]),
                ("CommSplit", [2, 0]),
                ("CommSplit", [0, 2, 3]),
                ("CommSplitType", [0, 1, 2, 3]),
                ("CommCreate", [2, 0]),
                ("CommCreateGroup", [2, 0]),
                ("CommIdup", [0, 1, 2, 3]),
                ("CartCreate", [0, 1, 2, 3]),
                ("CartSub", [2, 3]),
                ("GraphCreate", [0, 1, 2, 3]),
                ("DistGraphCreateAdjacent", [0, 1, 2, 3]),
                ("DistGraphCreate", [0, 1, 2, 3]),
                ("CommSplit", [0, 2]),
                ("IntercommCreate", [0, 2]),
                ("IntercommMerge", [0, 2, 1, 3]),
            ],
        )
        shapes = {comm["made_by"]: comm["topology"] for (rank, _), comm in trace.communicators.items() if rank == 2 and "topology" in comm}
        self.assertEqual(shapes["CartCreate"], [[2, 2], [1, 0]])
        self.assertEqual(shapes["CartSub"], [[2], [0]])
        self.assertEqual(shapes["GraphCreate"], [[3], [3]])
        self.assertEqual(shapes["DistGraphCreateAdjacent"], [[1], [3]])
        self.assertEqual(shapes["DistGraphCreate"], [[1], [3]])


class Fortran(Traced):
    def test_the_module_mpi(self) -> None:
        self.of_module("fortran")

    def test_the_module_mpi_f08(self) -> None:
        self.of_module("fortran08")

    def of_module(self, name: str) -> None:
        if why := compile_fortran(name):
            self.skipTest(why)
        trace = self.traced(name)
        for rank in range(2):  # each call has a place of its own, in the program and not in MPI's library
            sites = [trace.sites[rank, call["site"]] for call in trace.calls[rank, 1]]
            self.assertEqual({Path(site["module"]).name for site in sites}, {name})
            self.assertEqual(len({site["offset"] for site in sites}), len(sites))


class Ends(Traced):
    """However a program ends, what it did until then can be read."""

    def summary(self) -> list[Line]:
        return [json.loads(line) for line in dump("--summary", self.folder)]

    def messages(self, count: int) -> None:
        """Rank 0 has sent and rank 1 received that many, each as ends.c says."""
        trace = read(self.folder)
        for rank, kind in ((0, "Send"), (1, "Recv")):
            got = [(call["peer"], call["tag"], call["bytes"]) for call in trace.calls[rank, 1] if call["call"] == kind]
            self.assertEqual(got, [(1 - rank, i % 32768, i % 64) for i in range(count)])

    def test_sigkill(self) -> None:
        done = self.run_program("ends", "kill", "20000", ok=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual({one["state"] for one in self.summary()}, {"ended without MPI_Finalize"})
        trace = read(self.folder)  # the launcher kills the other rank when one is dead
        whole = 0
        for rank, kind in ((0, "Send"), (1, "Recv")):
            got = [(call["peer"], call["tag"], call["bytes"]) for call in trace.calls[rank, 1] if call["call"] == kind]
            self.assertEqual(got, [(1 - rank, i % 32768, i % 64) for i in range(len(got))])
            whole += len(got) == 20000
        self.assertGreaterEqual(whole, 1)

    def test_abort(self) -> None:
        done = self.run_program("ends", "abort", "100", ok=False)
        self.assertNotEqual(done.returncode, 0)
        first, second = self.summary()
        self.assertEqual((first["state"], first["code"]), ("aborted", 42))
        self.assertEqual(second["state"], "ended without MPI_Finalize")
        self.assertEqual(len([c for c in read(self.folder).calls[0, 1] if c["call"] == "Send"]), 100)

    def test_files_that_are_there_are_kept(self) -> None:
        kept = self.folder / "rank.000001.omplt"
        kept.write_text("precious")
        done = self.run_program("ends", "finish", "5", ok=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"ompl trace: \S*rank.000001.omplt cannot be written: File exists; nothing is recorded")
        self.assertEqual(kept.read_text(), "precious")

    def test_no_finalize(self) -> None:
        self.run_program("ends", "exit", "1000", ok=False)
        self.messages(1000)

    def test_unknown_calls_are_counted(self) -> None:
        self.run_program("ends", "unknown", "1")
        for one in self.summary():
            self.assertEqual(one["unknown"], {"MPI_File_open": 1, "MPI_File_write": 2, "MPI_File_close": 1})
            self.assertEqual(one["state"], "finalized")

    def test_a_million_records(self) -> None:
        self.run_program("ends", "finish", str(MILLION))
        for one in self.summary():
            self.assertEqual((one["calls"], one["lost"]), (MILLION + 2, 0))
            self.assertLess(one["records"], 1.001 * MILLION)  # of 48 bytes each
        self.assertEqual(self.summary()[0]["bytes_sent"], sum(i % 64 for i in range(MILLION)))

    def test_damaged_traces(self) -> None:
        self.run_program("ends", "finish", "30000")
        path = self.folder / "rank.000001.omplt"
        whole = path.read_bytes()
        damages = [
            ("truncated", whole[: len(whole) - 262144]),
            ("truncated", whole[: len(whole) - 1000]),
            ("too short", whole[:100]),
            ("cannot be read", b""),
            ("not a trace", b"X" + whole[1:]),
            ("other byte order", whole[:12] + whole[15:11:-1] + whole[16:]),
            ("version 7", whole[:8] + b"\7" + whole[9:]),
            ("header's sum", whole[:60] + b"!" + whole[61:]),
            ("its sum is wrong", flipped(whole, 65536 + 262144 + 64 + 4000)),
            ("no block begins", flipped(whole, 65536 + 262144)),
        ]
        for said, bad in damages:
            with self.subTest(said):
                path.write_bytes(bad)
                self.assertRegex(dump(self.folder, fails=True)[-1], f"^error: .*rank.000001.omplt: .*{said}")
        path.write_bytes(whole)
        self.messages(30000)
        path.unlink()
        self.assertRegex(dump(self.folder, fails=True)[-1], r"of 2 ranks these have no file: 1$")


class Clocks(Traced):
    """Ranks whose clocks differ, as those of two hosts do."""

    apart_s = 100_000

    def test_the_traces_of_both_have_one_time(self) -> None:
        skewed = ["unshare", "--time", "--fork", "--monotonic", str(self.apart_s)]
        probe = subprocess.run([*skewed, "true"], capture_output=True, text=True, timeout=LIMIT, check=False)
        if probe.returncode != 0:
            self.skipTest(f"no time namespaces here: {probe.stderr.strip()}")
        script = f'[ "${{PMI_RANK:-$PMIX_RANK}}" = 1 ] && exec {" ".join(skewed)} "$0"; exec "$0"'
        self.run_program("/bin/sh", "-c", script, str(FOLDER / "clocks"))
        trace = read(self.folder)
        times = {
            (rank, call["tag"], call["call"]): (call["begin"], call["end"])
            for rank in range(2)
            for call in trace.calls[rank, 1]
            if call["call"] in ("Ssend", "Recv")
        }
        summaries = [json.loads(line) for line in dump("--summary", self.folder)]
        offsets = [one["clock_offset"] / 1e9 for one in summaries]
        self.assertAlmostEqual(offsets[0], 0, places=2)
        self.assertAlmostEqual(offsets[1], -self.apart_s, places=1)
        slack = sum(one["clock_uncertainty"] for one in summaries) + 2000
        self.assertLess(slack, 10_000_000)
        for tag in range(200):
            send, receive = times[tag % 2, tag, "Ssend"], times[1 - tag % 2, tag, "Recv"]
            # A message is not received before it is sent, and its synchronous sender waits for the receiver.
            self.assertGreater(receive[1] + slack, send[0])
            self.assertGreater(send[1] + slack, receive[0])


class Partly(Traced):
    def test_a_rank_that_is_not_traced_does_not_hang_the_others(self) -> None:
        script = '[ "${PMI_RANK:-$PMIX_RANK}" = 1 ] && unset LD_PRELOAD; exec "$0" finish 5'
        done = self.run_program("/bin/sh", "-c", script, str(FOLDER / "ends"), ok=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 0 waits for ranks that are not traced: pass LD_PRELOAD and OMPL_TRACE_DIR", done.stderr)


class Command(Traced):
    """omni model trace."""

    def omni(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        env = os.environ | SETTINGS | {"OMNI_BUILD_DIR": str(ARGUMENTS.build), "PYTHONPATH": str(HERE.parents[1] / "python")}
        command = [ARGUMENTS.python, "-m", "omnipgas.cli", "model", *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
        if "No module named" in done.stderr:
            self.skipTest(f"{ARGUMENTS.python} lacks the libraries of omni: make check brings them")
        return done

    def trace(self, *program: str, out: Path | None = None) -> subprocess.CompletedProcess[str]:
        launch = [*MPI.launchers[0].command, "-n", "2"]
        return self.omni("trace", "-o", out or self.folder, "--", *launch, *program)

    def test_a_program_is_traced_by_the_interposer_of_its_mpi(self) -> None:
        done = self.trace(str(FOLDER / "ends"), "finish", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"│ *all │ *│ *2 │ *24 │")
        text = json.loads((self.folder / "trace.json").read_text())
        self.assertEqual((text["version"], text["ranks"], text["complete"], text["status"]), (1, 2, True, 0))
        self.assertEqual(text["tracer"], SAME_NAME[ARGUMENTS.name])
        again = self.trace(str(FOLDER / "ends"), "finish", "10")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("holds a trace already", again.stderr)
        shown = self.omni("show", self.folder)
        self.assertEqual(shown.stdout.count(" Send "), 10, shown.stderr)

    def test_a_program_that_dies(self) -> None:
        done = self.trace(str(FOLDER / "ends"), "kill", "10")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did not reach the end of MPI_Finalize", done.stderr)

    def test_what_cannot_be_traced_is_said(self) -> None:
        done = self.omni("trace", "-o", self.folder, "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is linked with an MPI", " ".join(done.stderr.replace("│", " ").split()))
        done = self.trace("true")  # linked with none, but started by this MPI's launcher or one that is not known
        self.assertNotEqual(done.returncode, 0)


def flipped(text: bytes, at: int) -> bytes:
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]


def compile_fortran(name: str) -> str:
    """Compiles a Fortran program; else why that cannot be."""
    source, target = str(HERE / "programs" / f"{name}.f90"), str(FOLDER / name)
    if ARGUMENTS.name == "impi":
        version = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True, check=False).stdout.strip()
        prefix = Path(ARGUMENTS.prefix)
        modules = sorted(prefix.glob(f"include/mpi/gfortran/{version.split('.')[0] or 'none'}.*"))
        if not modules or not (modules[-1] / f"mpi{'_f08' * (name == 'fortran08')}.mod").is_file():
            return "no gfortran for which Intel MPI has this module"
        links = [f"-L{prefix}/lib", "-lmpifort", "-lmpi", f"-Wl,-rpath,{prefix}/lib", "-Wl,--disable-new-dtags"]
        command = ["gfortran", f"-I{modules[-1]}", f"-I{prefix}/include", source, "-o", target, *links]
    else:
        compiler = MPI.mpicc.replace("mpicc", "mpifort")
        if shutil.which(compiler) is None:
            return f"this MPI has no Fortran compiler: no {compiler}"
        command = [compiler, source, "-o", target]
    subprocess.run([*command, "-O1", "-g", "-Wall", "-Werror"], timeout=LIMIT, check=True)
    return ""


def compile_programs() -> None:
    # GCC takes constants like MPI_STATUSES_IGNORE and MPI_UNWEIGHTED for arrays.
    options = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    for source in sorted((HERE / "programs").glob("*.c*")):
        compiler = MPI.mpicc.replace("mpicc", "mpicxx") if source.suffix == ".cpp" else MPI.mpicc
        command = [compiler, *options, str(source), "-o", str(FOLDER / source.stem), "-lpthread"]
        subprocess.run(command, timeout=LIMIT, check=True)


def main() -> None:
    global ARGUMENTS, MPI, FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--python", default=sys.executable, help="one with the libraries of omni")
    parser.add_argument("--only", nargs="+", default=["Calls", "Fortran", "Ends", "Clocks", "Partly", "Command"], help="cases or tests")
    ARGUMENTS = parser.parse_args()
    MPI = find_mpi_or_skip(ARGUMENTS.name, ARGUMENTS.prefix)
    signal.alarm(280)
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        compile_programs()
        program = unittest.main(argv=sys.argv[:1], defaultTest=ARGUMENTS.only, verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

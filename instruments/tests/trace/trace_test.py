#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of programs that know what they did, under one MPI: every record is held against what the program says.

trace_test.py NAME BUILD_DIR [--prefix PREFIX] [--python PYTHON] [--only CASE...]

NAME and PREFIX as in launcher_test.py. Those in programs/ are compiled with the MPI's wrappers and run with
its interposer preloaded; each thread of each rank writes what it expects of its records (expect.h)."""

import argparse
import json
import os
import signal
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from traced import (
    HERE,
    INTERPOSER,
    SETTINGS,
    Done,
    Line,
    Run,
    Traced,
    compile_fortran,
    dump,
    program,
    program_as_library,
    program_without_mpi,
    read,
    run,
)

sys.path.insert(0, str(HERE.parents[2] / "tests/process"))

from launcher_test import find_mpi_or_skip

sys.path.insert(0, str(HERE.parent))

from model import reference

MILLION = 1_000_000
PARTS = ("compute", "overhead", "send_wait", "recv_wait")  # of a time


class Calls(Traced):
    def test_messages(self) -> None:
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.folder = Path(tempfile.mkdtemp(dir=Run.folder))
                self.traced("messages", ranks=ranks)
                unknown = {"Opaque", "Startall", "Isendrecv", "PsendInit", "PrecvInit"}
                self.assertLessEqual(self.taken_for_computation(), unknown)

    def test_an_mpi_that_is_loaded_later(self) -> None:
        """As Python loads it."""
        self.traced(program_without_mpi("module"), program_as_library("messages"))

    def test_collectives(self) -> None:
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.folder = Path(tempfile.mkdtemp(dir=Run.folder))
                self.traced("collectives", ranks=ranks)
                self.assertEqual(self.taken_for_computation(), {"CartCreate", "CommFree"})

    def test_every_call_of_the_program_that_measures_the_cost(self) -> None:
        done = self.run_program("cost", "100", ranks=1)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual([one["call"] for one in told], ["Send", "Recv", "Isend+Wait", "Barrier", "Iprobe"])
        self.assertTrue(all(one["ns"] > 0 for one in told))
        [summary] = [json.loads(line) for line in dump("--summary", self.folder)]
        self.assertEqual(summary["calls"], 21 * 100 * 6 + 2)

    def test_requests_that_move(self) -> None:
        self.traced("moved")

    def test_one_sided(self) -> None:
        trace = self.traced("one_sided")
        self.assertEqual(self.taken_for_computation(), {"WinCreate", "WinAllocate", "WinFree"})
        for rank in range(2):
            self.assertEqual([trace.windows[rank, window]["bytes"] for window in (1, 2)], [800, 800])

    def test_threads(self) -> None:
        trace = self.traced("threads", "4", "50")
        for rank in range(2):
            self.assertEqual(sorted(thread for of, thread in trace.calls if of == rank), [1, 2, 3, 4, 5])
        found = self.replayed()
        self.assertEqual((found["messages"], found["not_modelled"]), (2 * 4 * 51, {}))
        threads = [(row["rank"], row["thread"]) for row in found["per_thread"]]
        self.assertEqual(threads, [(rank, thread) for rank in range(2) for thread in range(1, 6)])
        first, further = programs_of_threads(self.folder)
        row = json.loads((HERE.parent / "model/loggps_tables.json").read_text())["table5"]["Myrinet"]
        world = reference.World(first, "loggps", row | {"o": row["o_prime"]}, threads=further)
        self.assertAlmostEqual(max(one.end for one in world.threads) / 1e9, found["predicted_seconds"], delta=1e-9)
        times = [sum(row[part] for part in PARTS) for row in found["per_thread"]]
        self.assertAlmostEqual(max(times), found["predicted_seconds"], delta=1e-9)
        for rank, row in enumerate(found["per_rank"]):
            for part in PARTS:
                own = [one[part] for one in found["per_thread"] if one["rank"] == rank]
                self.assertAlmostEqual(sum(own), row[part], delta=1e-9)

    def test_communicators(self) -> None:
        trace = self.traced("communicators", ranks=4)
        # Of each global id, as ranks of MPI_COMM_WORLD.
        members: dict[int, set[tuple[tuple[int, ...], ...]]] = defaultdict(set)
        users: dict[int, set[int]] = defaultdict(set)
        for (rank, _), comm in trace.communicators.items():
            ranks = tuple(comm["ranks"]) or tuple(range(4))
            self.assertEqual(ranks[comm["own_rank"]], rank)
            both = tuple(sorted([ranks, tuple(comm["remote_ranks"])]))
            members[comm["global"]].add(both)
            users[comm["global"]].add(rank)
        for one, of in members.items():  # all its members, and nobody else, call a communicator by this id
            [sides] = of
            self.assertEqual(users[one], {rank for side in sides for rank in side})
        of_one = [comm for (rank, _), comm in trace.communicators.items() if rank == 2]
        made = [(comm["made_by"], comm["ranks"] or [0, 1, 2, 3]) for comm in of_one]
        self.assertEqual(made, [
            ("Init", [0, 1, 2, 3]), ("Init", [2]), ("CommDup", [0, 1, 2, 3]), ("CommSplit", [2, 0]),
            ("CommSplit", [0, 2, 3]), ("CommSplitType", [0, 1, 2, 3]), ("CommCreate", [2, 0]),
            ("CommCreateGroup", [2, 0]), ("CommIdup", [0, 1, 2, 3]), ("CartCreate", [0, 1, 2, 3]), ("CartSub", [2, 3]),
            ("GraphCreate", [0, 1, 2, 3]), ("DistGraphCreateAdjacent", [0, 1, 2, 3]),
            ("DistGraphCreate", [0, 1, 2, 3]), ("CommSplit", [0, 2]), ("IntercommCreate", [0, 2]),
            ("IntercommMerge", [0, 2, 1, 3]),
        ])  # fmt: skip
        shapes = {comm["made_by"]: comm["topology"] for comm in of_one if "topology" in comm}
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

    def messages(self) -> list[int]:
        """How many rank 0 has sent and rank 1 received, each as ends.c says."""
        trace, counts = read(self.folder), []
        for rank, kind in ((0, "Send"), (1, "Recv")):
            got = [(call["peer"], call["tag"], call["bytes"]) for call in trace.calls[rank, 1] if call["call"] == kind]
            self.assertEqual(got, [(1 - rank, i % 32768, i % 64) for i in range(len(got))])
            counts.append(len(got))
        return counts

    def test_sigkill(self) -> None:
        done = self.run_program("ends", "kill", "20000", ok=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual({one["state"] for one in self.summary()}, {"ended without MPI_Finalize"})
        self.assertEqual(self.messages(), [20000] * 2)  # the launcher kills the other rank when one is dead

    def test_death_at_any_moment(self) -> None:
        for i in range(6):
            self.folder = Path(tempfile.mkdtemp(dir=Run.folder))
            done = self.run_program("ends", "timer", str(3000 + 437 * i), ranks=1, ok=False)
            self.assertNotEqual(done.returncode, 0)
            calls = [call for call in read(self.folder).calls[0, 1] if call["call"] == "Send"]
            self.assertEqual([call["tag"] for call in calls], [n % 32768 for n in range(len(calls))])
            self.assertGreater(len(calls), 100)

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
        self.assertRegex(done.stderr, r"trace: \S*1.omplt cannot be written: File exists; nothing is recorded")
        self.assertEqual(kept.read_text(), "precious")

    def test_no_finalize(self) -> None:
        self.run_program("ends", "exit", "1000", ok=False)
        self.assertEqual(self.messages(), [1000] * 2)

    def test_unknown_calls_are_counted(self) -> None:
        self.run_program("ends", "unknown", "1")
        for one in self.summary():
            self.assertEqual(one["unknown"], {"MPI_File_open": 1, "MPI_File_write": 2, "MPI_File_close": 1})
            self.assertEqual(one["state"], "finalized")

    def test_a_million_records(self) -> None:
        self.run_program("ends", "finish", str(MILLION))
        for one in self.summary():
            self.assertEqual((one["calls"], one["lost"]), (MILLION + 4, 0))
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
        self.assertEqual(self.messages(), [30000] * 2)
        path.unlink()
        self.assertRegex(dump(self.folder, fails=True)[-1], r"of 2 ranks these have no file: 1$")


class Clocks(Traced):
    """Ranks whose clocks differ, as those of two hosts do."""

    apart_s = 100_000

    def test_the_traces_of_both_have_one_time(self) -> None:
        skewed = ["unshare", "--time", "--fork", "--monotonic", str(self.apart_s)]
        probe = run([*skewed, "true"])
        if probe.returncode != 0:
            self.skipTest(f"no time namespaces here: {probe.stderr.strip()}")
        script = f'[ "${{PMI_RANK:-$PMIX_RANK}}" = 1 ] && exec {" ".join(skewed)} "$0"; exec "$0"'
        self.run_program("/bin/sh", "-c", script, program("clocks"))
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
        done = self.run_program("/bin/sh", "-c", script, program("ends"), ok=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 0 waits for ranks that are not traced: pass LD_PRELOAD and OMPL_TRACE_DIR", done.stderr)


class Examples(Traced):
    """The programs of examples/mpi, which check their own results, send as many messages as they must."""

    def sent(self, name: str, *arguments: int, ranks: int) -> list[Line]:
        """All sends of all ranks; the program's result was right."""
        self.folder = Path(tempfile.mkdtemp(dir=Run.folder))
        self.run_program(name, *map(str, arguments), ranks=ranks)
        self.calls = read(self.folder).calls
        kinds = ("Send", "Isend", "Sendrecv")
        return [call for rank in range(ranks) for call in self.calls[rank, 1] if call["call"] in kinds]

    def test_gauss(self) -> None:
        for n, ranks in ((64, 2), (66, 3)):
            # The pairs of columns that go around, and the right side that comes back.
            lengths = (ranks - 1) * [16 * (n - first + 1) for first in range(0, n, 2)] + [8 * n] * (n // 2 - 1)
            whole = self.sent("gauss", n, ranks=ranks)
            self.assertCountEqual([call["bytes"] for call in whole], lengths)
            pieces = self.sent("gauss", n, 100, ranks=ranks)
            steps = [(length, 96 if length > 100 else length) for length in lengths]
            cut = [min(step, length - at) for length, step in steps for at in range(0, length, step)]
            self.assertCountEqual([call["bytes"] for call in pieces], cut)

    def test_halo(self) -> None:
        sends = self.sent("halo", 60, 7, ranks=3)
        self.assertEqual([call["bytes"] for call in sends], [8 * 60] * (4 * 7 * 3))

    def test_workers(self) -> None:
        sends = self.sent("workers", 20, 100, ranks=3)
        self.assertEqual(len(sends), 2 * (2 + 20))  # each worker asks once without a result
        results = [call for call in self.calls[0, 1] if call["call"] == "Recv"]
        self.assertEqual([call["flags"] for call in results], [["any_source", "any_tag"]] * 22)
        self.assertLessEqual({call["peer"] for call in results}, {1, 2})

    def test_transpose(self) -> None:
        for ranks, rounds in ((2, 3), (4, 2)):
            sends = self.sent("transpose", 16, rounds, ranks=ranks)
            self.assertEqual([call["bytes"] for call in sends], [8 * (16 // ranks) ** 2] * (ranks * ranks * rounds))

    def test_pipeline(self) -> None:
        sends = self.sent("pipeline", 12, 100, ranks=3)
        self.assertEqual(sorted(call["peer"] for call in sends), [1] * 12 + [2] * 12)


class Command(Traced):
    """omni model trace."""

    def omni(self, *arguments: str | Path) -> Done:
        places = {"OMNI_BUILD_DIR": str(Run.build), "PYTHONPATH": str(HERE.parents[1] / "omni")}
        env = os.environ | SETTINGS | places
        command = [Run.python, "-m", "omnipgas_tools.cli", "model", *arguments]
        done = run(command, env=env)
        if "No module named" in done.stderr:
            self.skipTest(f"{Run.python} lacks the libraries of omni: make check brings them")
        return done

    def trace(self, *program: str, out: Path | None = None) -> Done:
        launch = [*Run.mpi.launchers[0].command, "-n", "2"]
        return self.omni("trace", "-o", out or self.folder, "--", *launch, *program)

    def test_a_program_is_traced_by_the_interposer_of_its_mpi(self) -> None:
        done = self.trace(program("ends"), "finish", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"│ *all │ *│ *2 │ *28 │")
        text = json.loads((self.folder / "trace.json").read_text())
        self.assertEqual((text["version"], text["ranks"], text["complete"], text["status"]), (1, 2, True, 0))
        self.assertEqual(text["tracer"], INTERPOSER[Run.name])
        again = self.trace(program("ends"), "finish", "10")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("holds a trace already", again.stderr)
        shown = self.omni("show", self.folder)
        self.assertEqual(shown.stdout.count(" Send "), 10, shown.stderr)

    def test_the_mpi_that_a_process_loads_decides(self) -> None:
        """No program here is linked with it, as of Python."""
        done = self.trace(program_without_mpi("module"), program_as_library("ends"), "finish", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = json.loads((self.folder / "trace.json").read_text())
        self.assertEqual((text["ranks"], text["complete"]), (2, True))
        self.assertIn(INTERPOSER[Run.name], text["tracer"].split(", "))

    def test_a_program_that_dies(self) -> None:
        done = self.trace(program("ends"), "kill", "10")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did not reach the end of MPI_Finalize", done.stderr)

    def test_a_program_of_sessions_alone_is_told_that_it_is_not_traced(self) -> None:
        if Run.name == "openmpi":
            self.skipTest("Open MPI 4 has no sessions")
        done = self.trace(program("session"))
        self.assertIn("sum 3", done.stdout)  # as without the tracer
        self.assertIn("begins an MPI session before MPI_Init: sessions are not traced", done.stderr)
        self.assertIn("nothing was recorded", " ".join(done.stderr.replace("│", " ").split()))
        self.assertNotEqual(done.returncode, 0)

    def test_what_cannot_be_traced_is_said(self) -> None:
        done = self.omni("trace", "-o", self.folder, "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is linked with an MPI", " ".join(done.stderr.replace("│", " ").split()))
        done = self.trace("true")  # linked with none, but started by this MPI's launcher or one that is not known
        self.assertNotEqual(done.returncode, 0)


def programs_of_threads(folder: Path) -> tuple[list[list[Any]], list[tuple[int, list[Any]]]]:
    """What the threads of a trace did, as reference.py takes it: nonblocking messages, receives and waits. The first of
    each rank, and all others with their ranks."""
    calls: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in map(json.loads, dump("--local", folder)):  # as the replay: without the others' clocks
        if "call" in line:
            calls[line["rank"], line["thread"]].append(line)
    posted = {(rank, line["request"]): thread for (rank, thread), lines in calls.items() for line in lines
              if line["call"] in ("Isend", "Irecv")}  # fmt: skip
    waited = {(rank, one): thread for (rank, thread), lines in calls.items() for line in lines for one in ends(line)}
    out: dict[tuple[int, int], list[Any]] = {}
    for (rank, thread), lines in sorted(calls.items()):
        program: list[Any] = []
        mine: list[int] = []
        now = calls[rank, 1][0]["end"]
        for line in lines:
            if line["begin"] > now:
                program.append(["compute", line["begin"] - now])
            now = line["end"]
            if line["call"] == "Finalize":
                break
            place = [line["peer"], line["tag"], 0]
            if line["call"] in ("Isend", "Irecv"):
                size = [line["bytes"], False] if line["call"] == "Isend" else []
                program.append([line["call"].lower(), *place, *size])
                mine.append(line["request"])
                if waited.get((rank, line["request"]), thread) != thread:
                    program.append(["hand", len(mine) - 1, line["request"]])
            elif line["call"] == "Recv":
                program.append(["recv", *place])
            elif ends(line):
                own = [mine.index(one) for one in ends(line) if posted[rank, one] == thread]
                program.append(["wait", own, [one for one in ends(line) if posted[rank, one] != thread]])
        out[rank, thread] = program
    first = [program for (_, thread), program in out.items() if thread == 1]
    return first, [(rank, program) for (rank, thread), program in out.items() if thread > 1]


def ends(line: Line) -> list[int]:
    """Requests that a call completed."""
    if not line["call"].startswith("Wait"):
        return []
    several = line.get("ids", []) + [match["request"] for match in line.get("matches", [])]
    return several or [one for one in [line["request"]] if one]


def flipped(text: bytes, at: int) -> bytes:
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--python", default=sys.executable, help="one with the libraries of omni")
    parser.add_argument("--only", nargs="+", default=[case.__name__ for case in CASES], help="cases or tests")
    arguments = parser.parse_args()
    Run.mpi = find_mpi_or_skip(arguments.name, arguments.prefix)
    Run.name, Run.prefix, Run.build, Run.python = arguments.name, arguments.prefix, arguments.build, arguments.python
    signal.alarm(1700)
    with tempfile.TemporaryDirectory() as folder:
        Run.folder = Path(folder)
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        tests = unittest.main(argv=sys.argv[:1], defaultTest=arguments.only, verbosity=2, exit=False)
    sys.exit(not tests.result.wasSuccessful())


CASES = (Calls, Fortran, Ends, Clocks, Partly, Command)

if __name__ == "__main__":
    main()

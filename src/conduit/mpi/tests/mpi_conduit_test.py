#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The mpi conduit between real ranks of one MPI: the conformance suite, verified traffic, thread levels, both ends.

mpi_conduit_test.py NAME BUILD_DIR [--prefix PREFIX] [--hosts] [--long]

NAME and PREFIX as in launcher_test.py; openmpi is Debian's Open MPI 4, which the conduit refuses. The programs know
nothing of MPI: mpi_start.c, compiled with the MPI's mpicc, is preloaded into each rank. Without --long the suite leaves
out its slowest tests between two ranks, and traffic is brief; with it traffic goes on until a million messages were
verified. With --hosts the ranks are on hosts of their own, which are network namespaces, and MPI has nothing but TCP
between them; without root and the tools of tests/net that is skipped."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests/process"))
from launcher_test import Mpi, find_mpi_or_skip, leftovers, remove_orphans  # noqa: E402

SLOW = "*Data_PutsAndGetsOfAllSizesAndAlignments*:*FlushThenASignalByAnotherThread*:*Starve*"
SUITE = 75  # tests at least of the whole suite, and of
BRIEF, OF_THREE = 70, 9  # its parts
MILLION = 1_000_000
# Open MPI 5 else spins wherever it waits, with more ranks than cores.
SETTINGS = {"OMPL_CONDUITS": "self,mpi", "OMPL_LOG": "info", "OMPI_MCA_mpi_yield_when_idle": "1"}

# Between hosts that have one name and one kernel: nothing but TCP over the interface of tests/net.
UCX_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "net0"}
OPEN_MPI_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "net0"}
OPEN_MPI_TCP |= {"OMPI_MCA_osc": "rdma"}
TCP = {
    "mpich5": {"MPIR_CVAR_NOLOCAL": "1"} | UCX_TCP,
    "openmpi5": OPEN_MPI_TCP,
    "impi": {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"},
}
SKIP = 77

Done = subprocess.CompletedProcess[str]
MPI: Mpi
ARGUMENTS: argparse.Namespace
FOLDER = Path()


def compile_c(source: str, target: Path, *options: str) -> None:
    here = Path(__file__).parent
    command = [MPI.mpicc, "-O2", "-Wall", "-Wextra", f"-I{ROOT}/include", str(here / source)]
    subprocess.run([*command, "-o", str(target), *options], timeout=240, check=True)


def ended(command: list[str], limit_s: float, **how: Any) -> Done:
    """A command at its end."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=limit_s, check=False, **how
    )


def built(program: str) -> str:
    return str(ARGUMENTS.build / "bin/tests" / program)


class Jobs(unittest.TestCase):
    limit_s = 240.0  # of one job

    def setUp(self) -> None:
        self.addCleanup(lambda before: remove_orphans(leftovers() - before), leftovers())

    def start(self, ranks: int, *program: str, **variables: str) -> Done:
        """A job whose ranks are the program."""
        command = [*MPI.launchers[0].command, "-n", str(ranks), *program]
        return ended(command, self.limit_s, env=os.environ | SETTINGS | variables, stderr=subprocess.PIPE)

    def preloaded(self, ranks: int, *program: str, **variables: str) -> Done:
        """The same, with MPI initialised before main()."""
        return self.start(ranks, "env", f"LD_PRELOAD={FOLDER / 'start.so'}", *program, **variables)

    def suite(self, ranks: int, least: int, excluded: str = "", **variables: str) -> None:
        """Every rank has passed the same tests, which are the suite's (for so many ranks), and none failed."""
        with tempfile.TemporaryDirectory(dir=FOLDER) as results:
            script = f'LD_PRELOAD=$0 exec "$@" --gtest_output=json:{results}/$$.json'
            suite = (built("conformance_mpi"), f"--gtest_filter=-{excluded}")
            done = self.start(ranks, "sh", "-c", script, str(FOLDER / "start.so"), *suite, **variables)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            reports = [json.loads(report.read_text()) for report in Path(results).iterdir()]
        passed = [
            [case["name"] for case in report["testsuites"][0]["testsuite"] if case["result"] == "COMPLETED"]
            for report in reports
        ]
        self.assertEqual(len(passed), ranks, done.stdout)
        self.assertEqual([report["failures"] for report in reports], [0] * ranks)
        self.assertTrue(all(names == passed[0] for names in passed), passed)
        self.assertGreaterEqual(len(passed[0]), least, done.stdout)

    def traffic_each(self, *cases: tuple[int, int, int, int], seconds: int = 1) -> None:
        """Of each number of ranks, threads and slots, and length."""
        for ranks, threads, slots, length in cases:
            with self.subTest(ranks=ranks, threads=threads, slots=slots):
                self.traffic(ranks, seconds, threads, slots, length)

    def traffic(self, ranks: int, seconds: int, threads: int, slots: int, length: int, least: int = 0) -> int:
        """Messages that were passed around, every byte of them looked at."""
        program = [built("traffic"), str(seconds), str(threads), str(length), str(least)]
        done = self.preloaded(ranks, *program, OMPL_ENDPOINTS=str(slots), OMPL_SEGMENT_SIZE="1G")
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(re.findall(r"; network: (\w+)", said), ["mpi"] * ranks, said)
        self.assertEqual(re.findall(r"ompl\S* (?:error|warning): .*", said), [])
        rounds = [int(count) for count in re.findall(r"ring \d+: (\d+) rounds", said)]
        self.assertEqual(len(rounds), threads, said)
        self.assertGreater(min(rounds), 0)
        return ranks * sum(rounds)


class Brief(Jobs):
    def test_the_suite_between_two_ranks(self) -> None:
        self.suite(2, BRIEF, SLOW)

    def test_the_suite_between_three_ranks(self) -> None:
        self.suite(3, OF_THREE)

    def test_the_suite_where_mpi_allows_one_thread_at_a_time(self) -> None:
        self.suite(3, OF_THREE, MPI_START_LEVEL="z")

    def test_threads_on_slots(self) -> None:
        self.traffic_each((2, 1, 1, 100_000), (2, 8, 1, 4000), (3, 4, 3, 30_000), (2, 8, 8, 4000))

    def test_memory_of_a_gpu_is_staged(self) -> None:
        """Over a stand-in for the driver (tests/process/gpu)."""
        folder = ARGUMENTS.build / "tests/process/fake_gpu"
        script = f'LD_PRELOAD=$0 LD_LIBRARY_PATH="{folder}:$LD_LIBRARY_PATH" exec "$@"'
        program = (built("gpu_worker"), "check", str(4 << 20))
        done = self.start(2, "sh", "-c", script, str(FOLDER / "start.so"), *program, OMPL_SEGMENT_SIZE="1G")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("check: done", done.stdout)

    def test_a_rank_that_dies_ends_the_job(self) -> None:
        done = self.preloaded(2, built("fault_worker"), "die-during", "wait")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("returned although", done.stdout + done.stderr)

    def test_pools_of_different_size(self) -> None:
        script = 'OMPL_ENDPOINTS=$((1 + 3 * ${PMI_RANK:-$PMIX_RANK})) LD_PRELOAD=$0 exec "$@"'
        program = built("traffic")
        done = self.start(2, "sh", "-c", script, str(FOLDER / "start.so"), program, "1", "4", "5000")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(" rounds"), 4)
        self.assertEqual(done.stderr.count("4 windows"), 2, done.stderr)

    def test_thread_levels_and_both_ends(self) -> None:
        for level in ("single", "funneled", "serialized", "multiple"):
            for end in ("ompl", "mpi"):
                with self.subTest(level=level, end=end):
                    done = self.start(2, str(FOLDER / "levels"), level, end, OMPL_LOG="warn")
                    if skipped := re.search(r"skipped: (.*)", done.stdout):
                        self.skipTest(skipped[1])
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertEqual(done.stdout.count("all was right"), 2)
                    refused = 2 if level in ("single", "funneled") else 0
                    self.assertEqual(done.stdout.count("the second thread was refused"), refused)
                    self.assertEqual(done.stdout.count("the layer was refused"), 2 if end == "mpi" else 0)

    def test_an_mpi_that_is_not_initialised_is_named(self) -> None:
        done = self.start(2, built("traffic"), "1", "1", "8", OMPL_LOG="error")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("this process has no MPI library; link the program with one", done.stderr)

    def test_ranks_that_are_not_those_of_mpi(self) -> None:
        """Each MPI rank a job of its own: nobody needs a network, and ompl-info says why it could not be this one."""
        info = str(ARGUMENTS.build / "bin/ompl-info")
        done = self.preloaded(2, info, OMPL_LAUNCHER="single")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = re.findall(r"mpi .*rank 0 of 1 of this job is rank \d of 2 of MPI_COMM_WORLD", done.stdout)
        self.assertEqual(len(told), 2, done.stdout)

    def test_why_says_which_mpi(self) -> None:
        done = self.preloaded(2, str(ARGUMENTS.build / "bin/ompl-info"), "--why")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = re.findall(r"rank \d: mpi \(.*mpi: MPI_THREAD_MULTIPLE of \w", done.stdout)
        self.assertEqual(len(told), 2, done.stdout)


class Hosts(Jobs):
    """Each rank on a host of its own (tests/net/hosts.py)."""

    at: tuple[str, ...] = ()  # what happens to the network

    def start(self, ranks: int, *program: str, **variables: str) -> Done:
        settings = SETTINGS | TCP[ARGUMENTS.name] | variables
        kind, tool = ("prterun", "prterun") if ARGUMENTS.name.startswith("openmpi") else ("hydra", "mpiexec.hydra")
        rig = str(ROOT / "tests/net/hosts.py")
        launcher = f"{kind}={ARGUMENTS.prefix}/bin/{tool}"
        job = ["env", *(f"{name}={value}" for name, value in settings.items()), *program]
        options = ["--launcher", launcher, "--hosts", str(ranks), "--seconds", str(self.limit_s)]
        options += [word for action in self.at for word in ("--at", action)]
        done = ended([sys.executable, rig, *options, *job], self.limit_s + 30, stderr=subprocess.STDOUT)
        if done.returncode == SKIP:
            self.skipTest(done.stdout.strip().removeprefix("skipped: "))
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "")


class BriefHosts(Hosts):
    def test_threads_on_slots(self) -> None:
        self.traffic_each((2, 1, 1, 100_000), (3, 2, 2, 1000), (2, 8, 3, 4000), (4, 2, 4, 20_000))

    def test_loss(self) -> None:
        self.at = ("0.5 loss 5", "3 heal")
        self.traffic(2, 4, 2, 2, 20_000)

    def test_a_cut_that_is_healed(self) -> None:
        self.at = ("0.5 cut 1", "2 heal")
        self.traffic(2, 3, 1, 1, 1_000_000)


class LongHosts(Hosts):
    limit_s = 900.0

    def test_a_million_messages(self) -> None:
        self.assertGreaterEqual(self.traffic(2, 1, 8, 8, 256, MILLION), MILLION)

    def test_a_cut_for_good(self) -> None:
        """Long before TCP gives up. With one thread and slot some rank is mostly inside MPI_Win_flush."""
        self.limit_s = 100.0
        self.at = ("1 cut 1",)
        for ranks, threads, length in ((2, 1, 5_000_000), (3, 2, 1000)):
            with self.subTest(ranks=ranks, threads=threads, length=length):
                program = [built("traffic"), "90", str(threads), str(length)]
                said = self.preloaded(ranks, *program, OMPL_ENDPOINTS=str(threads), OMPL_SEGMENT_SIZE="1G").stdout
                self.assertRegex(said, r"network: [1-9]\d* packets were dropped")
                self.assertRegex(said, r"the launcher exited with [1-9]")
                self.assertNotIn("did not end", said)
                if ARGUMENTS.name != "openmpi5":  # ends the job itself
                    self.assertRegex(said, r"rank \d.*: its host 10\.77\.0\.\d has answered nothing for 30 s")

    def test_a_rank_that_is_stopped_for_longer(self) -> None:
        self.limit_s = 100.0
        done = self.preloaded(2, built("fault_worker"), "stop", "40", OMPL_SEGMENT_SIZE="1G")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("; a thread watches the network"), 2, done.stdout)
        self.assertIn("answered", done.stdout)


class Refused(Jobs):
    def test_open_mpi_4_is_refused_with_the_reason(self) -> None:
        done = self.preloaded(2, built("traffic"), "1", "1", "8", OMPL_LOG="error")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"Open MPI v4\.\S+ gives threads no turn.*use Open MPI 5")


class Long(Jobs):
    limit_s = 500.0

    def test_the_whole_suite(self) -> None:
        self.suite(2, SUITE)

    def test_the_whole_suite_where_mpi_allows_one_thread_at_a_time(self) -> None:
        self.suite(2, SUITE, MPI_START_LEVEL="z")

    def test_all_threads_on_all_slots(self) -> None:
        cases = [(2, threads, slots, 20_000) for threads in (1, 2, 4, 8) for slots in (1, 3, 8)]
        self.traffic_each(*cases, seconds=2)

    def test_a_million_messages(self) -> None:
        self.assertGreaterEqual(self.traffic(2, 1, 2, 2, 1000, MILLION), MILLION)


def main() -> None:
    global ARGUMENTS, MPI, FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("build", type=Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--long", action="store_true")
    ARGUMENTS = parser.parse_args()
    MPI = find_mpi_or_skip(ARGUMENTS.name, ARGUMENTS.prefix)
    signal.alarm(1700 if ARGUMENTS.long else 580)
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        compile_c("mpi_start.c", FOLDER / "start.so", "-shared", "-fPIC")
        library = ARGUMENTS.build / "lib"
        linked = [f"-L{library}", "-lomnipgas", f"-Wl,-rpath,{library}", "-lpthread"]
        compile_c("mpi_levels.c", FOLDER / "levels", *linked)
        case = ("Long" if ARGUMENTS.long else "Brief") + ("Hosts" if ARGUMENTS.hosts else "")
        case = "Refused" if ARGUMENTS.name == "openmpi" else case
        program = unittest.main(argv=sys.argv[:1], defaultTest=case, verbosity=2, exit=False)
    result = program.result
    skipped = {test.id().split(" ")[0]: reason for test, reason in result.skipped}
    for test, reason in skipped.items():
        print(f"skipped: {test}: {reason}")
    sys.exit(not result.wasSuccessful() or (SKIP if len(skipped) == result.testsRun else 0))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""omplrun's exit code, and what it says about the rank that failed."""

import subprocess
import sys
import tempfile
import unittest

from omplrun_harness import LIMIT, RANKS, command, main, run, shell

# Rank 0 is killed, and its tracer keeps its end from omplrun until that has waited for rank 1, which exits with 3.
SLOW_DEATH = """
import ctypes, os, pathlib, signal, sys, time
folder, libc, limit = pathlib.Path(sys.argv[1]), ctypes.CDLL(None), time.monotonic() + 60
def until(holds):
    while not holds() and time.monotonic() < limit: time.sleep(0.001)
def state(pid):
    try: return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError: return "gone"
if os.environ["PMI_RANK"] == "0":
    libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER: anybody
    (folder / "part").write_text(str(os.getpid()))
    (folder / "part").rename(folder / "pid")
    until(lambda: False)
until((folder / "pid").exists)
victim, me, (read_end, write_end) = int((folder / "pid").read_text()), os.getpid(), os.pipe()
if os.fork() == 0:
    if libc.ptrace(0x4206, victim, 0, 0) != 0: os.write(2, b"no ptrace here")  # PTRACE_SEIZE
    os.kill(victim, signal.SIGKILL)
    until(lambda: state(victim) in ("Z", "gone"))
    os.write(write_end, b"x")
    until(lambda: state(me) == "gone")
    os._exit(0)
os.read(read_end, 1)
os._exit(3)
"""


class Exit(unittest.TestCase):
    def test_all_well(self) -> None:
        done = shell(4, "exit 0")
        self.assertEqual((done.code, done.out, done.err), (0, "", ""))

    def test_code_of_the_first_failing_rank(self) -> None:
        done = shell(3, "if [ $PMI_RANK = 1 ]; then exit 7; else exec sleep 100; fi")
        self.assertEqual(done.code, 7)
        self.assertEqual(done.err, "omplrun: rank 1 exited with code 7; ending 2 ranks\n")

    def test_death_by_signal(self) -> None:
        for name, number in (("SEGV", 11), ("KILL", 9), ("ABRT", 6), ("TERM", 15)):
            with self.subTest(name):
                done = shell(2, f"if [ $PMI_RANK = 0 ]; then kill -{name} $$; fi; exec sleep 100")
                self.assertEqual(done.code, 128 + number)
                self.assertIn(f"rank 0 was killed by SIG{name} (", done.err)

    def test_a_death_that_others_notice_before_omplrun_can(self) -> None:
        """As of a rank that is still closing its files when others have seen its connections break."""
        with tempfile.TemporaryDirectory() as folder:
            done = run("-n", "2", sys.executable, "-c", SLOW_DEATH, folder)
        if "no ptrace here" in done.err:
            self.skipTest("no ptrace here")
        self.assertEqual(done.code, 137, done.err)
        self.assertIn("rank 0 was killed by SIGKILL", done.err)

    def test_ranks_that_ignore_sigterm_are_ended_too(self) -> None:
        done = shell(3, "trap '' TERM; [ $PMI_RANK = 2 ] && exit 5; while :; do sleep 0.1; done")
        self.assertEqual(done.code, 5)
        self.assertIn("rank 2 exited with code 5", done.err)

    def test_stopped_ranks_are_ended_too(self) -> None:
        done = shell(2, "[ $PMI_RANK = 1 ] && exit 5; kill -STOP $$")
        self.assertEqual(done.code, 5)

    def test_exit_without_leaving_the_job(self) -> None:
        done = run("-n", "2", RANKS, "open", "exchange")
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, r"rank \d died: it exited with code 0, but without leaving the job")

    def test_death_inside_the_job(self) -> None:
        done = run("-n", "4", RANKS, "open", "exchange", "die:2:9")
        self.assertEqual(done.code, 137)
        self.assertIn("rank 2 was killed by SIGKILL", done.err)

    def test_abort(self) -> None:
        done = run("-n", "3", RANKS, "open", "exchange", "abort:9")
        self.assertEqual(done.code, 9)
        self.assertIn("rank 2 aborted the job with code 9", done.err)
        self.assertIn("the test wants it", done.err)

    def test_a_barrier_that_can_never_be_complete(self) -> None:
        done = shell(3, f"[ $PMI_RANK = 1 ] && exit 0; exec {RANKS} open exchange finish")
        self.assertEqual(done.code, 1)
        self.assertIn("rank 1 left the job while others wait for it in a PMI barrier", done.err)

    def test_a_death_while_others_wait_in_a_barrier_keeps_its_code(self) -> None:
        script = f"[ $PMI_RANK = 1 ] && kill -KILL $$; exec {RANKS} open exchange finish"
        for options in ([], ["--keep-going"]):
            with self.subTest(options):
                self.assertEqual(shell(3, script, *options).code, 128 + 9)

    def test_a_rank_that_does_not_speak_pmi(self) -> None:
        # Not by a shell's redirection: dash knows descriptors of one digit only.
        rank = 'import os, time; os.write(int(os.environ["PMI_FD"]), b"hello\\n"); time.sleep(100)'
        done = run("-n", "2", sys.executable, "-c", rank)
        self.assertEqual(done.code, 1)
        self.assertIn('broke the PMI protocol: it sent "hello"', done.err)

    def test_timeout(self) -> None:
        done = run("-n", "2", "--timeout", "0.2", "sleep", "100")
        self.assertEqual(done.code, 124)
        self.assertEqual(
            done.err, "omplrun: the job did not end within --timeout 0.2 s; ending 2 ranks\n"
        )

    def test_a_program_that_cannot_be_started(self) -> None:
        for program, code, why in (
            ("no-such-program", 127, "No such file or directory"),
            ("./no/such/program", 127, "No such file or directory"),
            ("/etc/passwd", 126, "Permission denied"),
        ):
            with self.subTest(program):
                done = run("-n", "2", program)
                self.assertEqual(done.code, code)
                self.assertEqual(done.err, f'omplrun: cannot start "{program}": {why}\n')

    def test_64_ranks(self) -> None:
        done = run("-n", "64", RANKS, "open", "exchange", "show", "finish")
        self.assertEqual((done.code, done.err), (0, ""))
        nodes = ",".join("0" * 64)
        expected = [f"[{rank}] rank {rank} of 64 by pmi1, nodes {nodes}" for rank in range(64)]
        self.assertEqual(sorted(done.out.splitlines()), sorted(expected))

    def test_two_jobs_at_once(self) -> None:
        arguments = command("-n", "4", RANKS, "open", "exchange", "finish")
        jobs = [subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for job in jobs:
            with job:
                _, errors = job.communicate(timeout=LIMIT)
                self.assertEqual((job.returncode, errors), (0, ""))

    def test_a_job_inside_a_rank(self) -> None:
        done = run("-n", "2", command()[0], "-n", "2", RANKS, "open", "exchange", "show", "finish")
        self.assertEqual((done.code, done.err), (0, ""))
        expected = [f"[{o}] [{i}] rank {i} of 2 by pmi1, nodes 0,0" for o in range(2) for i in range(2)]
        self.assertEqual(sorted(done.out.splitlines()), expected)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Signals that omplrun gets are passed on to the ranks."""

import signal
import subprocess
import unittest

from omplrun_harness import LIMIT, command, ended, main, started, wait_for_lines

# Each rank says that it is ready, and which signal it got; then it waits for more, or exits with 0.
CATCH = """
finish=
for s in INT TERM HUP USR1 USR2; do trap "echo got $s; finish=1" $s; done
echo ready
until [ $finish ]; do sleep 0.05; done
exit 0
"""
SURVIVE_USR1 = "trap 'echo got USR1; got=1' USR1; echo ready; until [ $got ]; do sleep 0.05; done; exit 0"
SURVIVE_INT = "trap 'echo got INT' INT; echo ready; while :; do sleep 0.05; done"


class Signals(unittest.TestCase):
    def test_each_is_passed_on(self) -> None:
        for name in ("INT", "TERM", "HUP", "USR1", "USR2"):
            with self.subTest(name), started("-n", "2", "sh", "-c", CATCH) as job:
                wait_for_lines(job, 2)
                job.send_signal(getattr(signal, f"SIG{name}"))
                done = ended(job)
                self.assertEqual(sorted(done.out.splitlines()), [f"[0] got {name}", f"[1] got {name}"])
                self.assertEqual(done.code, 0, done.err)

    def test_ranks_die_of_what_they_do_not_catch(self) -> None:
        with started("-n", "2", "sh", "-c", "echo ready; exec sleep 100") as job:
            wait_for_lines(job, 2)
            job.send_signal(signal.SIGTERM)
            done = ended(job)
            self.assertEqual(done.code, 143)
            self.assertRegex(
                done.err, r"rank \d was killed by SIGTERM \(Terminated\), which omplrun passed on"
            )

    def test_a_second_interrupt_kills(self) -> None:
        with started("-n", "2", "sh", "-c", SURVIVE_INT) as job:
            wait_for_lines(job, 2)
            job.send_signal(signal.SIGINT)
            self.assertEqual(sorted(wait_for_lines(job, 2)), ["[0] got INT\n", "[1] got INT\n"])
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGINT)
            done = ended(job)
            self.assertEqual(done.code, 130)
            self.assertIn("second SIGINT: killing all ranks", done.err)

    def test_who_does_not_end_is_killed(self) -> None:
        """As a library does that handles the signal and hangs."""
        script = "trap '' INT TERM HUP; echo ready; while :; do sleep 0.05; done"
        for name in ("INT", "TERM", "HUP"):
            with self.subTest(name), started("-n", "2", "--grace", "0.2", "sh", "-c", script) as job:
                wait_for_lines(job, 2)
                number = getattr(signal, f"SIG{name}")
                job.send_signal(number)
                done = ended(job)
                self.assertEqual(done.code, 128 + number)
                self.assertIn("2 ranks are still there 0.2 s after SIG" + name, done.err)

    def test_other_signals_kill_nobody(self) -> None:
        with started("-n", "1", "--grace", "0", "sh", "-c", SURVIVE_USR1) as job:
            wait_for_lines(job, 1)
            job.send_signal(signal.SIGUSR1)
            self.assertEqual(wait_for_lines(job, 1), ["[0] got USR1\n"])
            self.assertEqual(ended(job).code, 0)

    def test_what_is_ignored_stays_ignored(self) -> None:
        script = " ".join(command("-n", "1", "sh", "-c", "'echo ready; sleep 0.5; echo alive'"))
        with subprocess.Popen(
            ["sh", "-c", f"trap '' HUP; exec {script}"], stdout=subprocess.PIPE, text=True
        ) as job:
            assert job.stdout is not None
            self.assertEqual(job.stdout.readline(), "[0] ready\n")
            job.send_signal(signal.SIGHUP)
            self.assertEqual(job.stdout.readline(), "[0] alive\n")
            self.assertEqual(job.wait(timeout=LIMIT), 0)

    def test_who_starts_omplrun_may_ignore_sigchld(self) -> None:
        job = " ".join(command("-n", "2", "sh", "-c", "'sleep 0.01 & wait $!; exit 3'"))
        done = subprocess.run(["sh", "-c", f"trap '' CHLD; exec {job}"], timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 3)

    def test_ranks_start_with_an_ordinary_mask(self) -> None:
        with started("-n", "1", "grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status") as job:
            blocked, ignored = (int(line.split()[2], 16) for line in ended(job).out.splitlines())
        self.assertEqual(blocked, 0)
        self.assertEqual(ignored & (1 << (signal.SIGPIPE - 1)), 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks write arrives whole, in lines, with the rank before each."""

import subprocess
import time
import unittest
from collections import Counter

from omplrun_harness import LIMIT, command, main, processes_with, run, shell, token


class Output(unittest.TestCase):
    def test_each_stream_is_prefixed(self) -> None:
        done = shell(2, "echo out $PMI_RANK; echo err $PMI_RANK >&2")
        self.assertEqual(sorted(done.out.splitlines()), ["[0] out 0", "[1] out 1"])
        self.assertEqual(sorted(done.err.splitlines()), ["[0] err 0", "[1] err 1"])

    def test_partial_lines_are_joined(self) -> None:
        done = shell(2, "printf a; sleep 0.1; printf 'b\\n\\nc'")
        lines = [f"[{rank}] {text}" for rank in range(2) for text in ("", "ab", "c")]
        self.assertEqual(sorted(done.out.split("\n")), sorted([*lines, ""]))

    def test_last_words_before_a_crash(self) -> None:
        done = shell(1, "printf 'the end'; kill -SEGV $$")
        self.assertEqual(done.out, "[0] the end\n")

    def test_what_a_helper_writes_after_the_end_of_its_rank(self) -> None:
        """As the `tee` of a log."""
        helper = "(while kill -0 $$; do sleep 0.01; done; echo late) 2>/dev/null &"
        for code in (0, 5):
            done = shell(2, f"{helper} exit {code}")
            self.assertEqual(done.code, code, done.err)
            self.assertIn("late\n", done.out)
        self.assertEqual(sorted(shell(2, helper).out.splitlines()), ["[0] late", "[1] late"])

    def test_a_helper_that_stays_is_ended_with_a_line(self) -> None:
        mark = token()
        done = shell(1, f"sleep {mark} & exit 0", "--grace", "0.2")
        self.assertEqual(done.code, 0)
        self.assertEqual(
            done.err,
            "omplrun: processes that rank 0 started are still there 0.2 s after its end: killing them\n",
        )
        self.assertEqual(processes_with(mark), [])

    def test_no_prefix_keeps_every_byte(self) -> None:
        script = "head -c 300000 /dev/zero; printf 'a\\nb'"
        done = subprocess.run(
            command("-n", "1", "--no-prefix", "sh", "-c", script),
            capture_output=True,
            timeout=LIMIT,
            check=True,
        )
        self.assertEqual(done.stdout, bytes(300000) + b"a\nb")

    def test_many_lines_of_many_ranks_stay_whole(self) -> None:
        ranks, lines = 16, 500
        script = f'for i in $(seq {lines}); do echo "$PMI_RANK line of rank $PMI_RANK"; done'
        done = shell(ranks, script)
        self.assertEqual(
            Counter(done.out.splitlines()),
            Counter({f"[{rank}] {rank} line of rank {rank}": lines for rank in range(ranks)}),
        )

    def test_a_slow_reader_gets_everything(self) -> None:
        size = 8_000_000  # more than omplrun queues
        with subprocess.Popen(
            command("-n", "2", "--no-prefix", "sh", "-c", f"yes | head -c {size}"),
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            time.sleep(0.5)  # omplrun must not wait inside a write: see the signal test below
            total = len(process.stdout.read())
            process.wait(timeout=LIMIT)
        self.assertEqual((process.returncode, total), (0, 2 * size))

    def test_signals_arrive_although_nobody_reads(self) -> None:
        with subprocess.Popen(
            command("-n", "1", "yes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.2)
            process.terminate()
            self.assertEqual(process.wait(timeout=LIMIT), 143)

    def test_a_reader_that_goes_away_ends_the_job(self) -> None:
        with subprocess.Popen(
            command("-n", "2", "yes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            errors = process.stderr.read()
            self.assertEqual(process.wait(timeout=LIMIT), 141)
        self.assertIn("cannot write standard output: Broken pipe", errors)

    def test_closed_streams_are_no_trouble(self) -> None:
        quoted = " ".join(command("-n", "2", "sh", "-c", "'echo x; echo y >&2'"))
        done = subprocess.run(["sh", "-c", f"{quoted} <&- >&- 2>&-"], timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0)

    def test_into_a_file_and_into_nothing(self) -> None:
        quoted = " ".join(command("-n", "2", "echo", "x"))
        done = subprocess.run(
            ["sh", "-c", f"f=$(mktemp) && {quoted} >$f && sort $f; rm $f; {quoted} >/dev/null"],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "[0] x\n[1] x\n"))

    def test_a_full_disk_is_told(self) -> None:
        done = subprocess.run(
            ["sh", "-c", " ".join(command("-n", "1", "echo", "x")) + " >/dev/full"],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write standard output: No space left on device", done.stderr)

    def test_a_long_line(self) -> None:
        done = run("-n", "1", "sh", "-c", "head -c 900000 /dev/zero | tr '\\0' x; echo")
        self.assertEqual(done.out, "[0] " + "x" * 900000 + "\n")


if __name__ == "__main__":
    main()

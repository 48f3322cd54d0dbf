#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Standard input reaches rank 0, whatever it is, and no other rank."""

import os
import pty
import select
import subprocess
import time
import unittest

from omplrun_harness import LIMIT, command, main, shell


def read_until(fd: int, text: bytes) -> bytes:
    """What the terminal shows until it has shown `text`."""
    seen = b""
    end = time.monotonic() + LIMIT
    while text not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 4096)
    return seen


class Input(unittest.TestCase):
    def test_only_rank_0_has_it(self) -> None:
        done = shell(3, 'while read line; do echo "$PMI_RANK got $line"; done', stdin="a\nb\n")
        self.assertEqual(done.out, "[0] 0 got a\n[0] 0 got b\n")

    def test_a_lot_of_it(self) -> None:
        text = "0123456789abcde\n" * 60000
        self.assertEqual(shell(2, "cat", "--no-prefix", stdin=text).out, text)

    def test_ranks_that_do_not_read_leave_it_alone(self) -> None:
        loop = "while read line; do " + " ".join(command("-n", "1", "true")) + "; echo $line; done"
        done = subprocess.run(
            ["sh", "-c", loop],
            input="1\n2\n3\n",
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        self.assertEqual(done.stdout, "1\n2\n3\n")

    def test_a_terminal(self) -> None:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(
                command()[0],
                command("-n", "2", "sh", "-c", 'while read x; do echo "got <$x>"; done; echo end'),
            )
        try:
            os.write(terminal, b"one\n")
            self.assertIn(b"[0] got <one>", read_until(terminal, b"[0] got <one>"))
            os.write(terminal, b"two\n")
            self.assertIn(b"[0] got <two>", read_until(terminal, b"[0] got <two>"))
            os.write(terminal, b"\x04")  # end of input
            self.assertIn(b"[0] end", read_until(terminal, b"[0] end"))
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
        finally:
            os.close(terminal)

    def test_interrupt_key_of_a_terminal(self) -> None:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(command()[0], command("-n", "2", "sh", "-c", "echo ready; exec sleep 100"))
        try:
            read_until(terminal, b"[1] ready")
            os.write(terminal, b"\x03")
            self.assertIn(b"SIGINT", read_until(terminal, b"SIGINT"))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        finally:
            os.close(terminal)


if __name__ == "__main__":
    main()

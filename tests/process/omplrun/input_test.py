#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Standard input reaches rank 0, whatever it is, and no other rank."""

import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest
from contextlib import suppress
from pathlib import Path

from omplrun_harness import LIMIT, command, main, shell, wait_until


def read_until(fd: int, text: bytes) -> bytes:
    """What the terminal shows until it has shown `text`."""
    seen = b""
    end = time.monotonic() + LIMIT
    while text not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 4096)
    return seen


def state_of(pid: int) -> str:
    """As in proc(5): "T" is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def as_shell(arguments: list[str], commands: int) -> None:
    """In the new terminal's first process: runs the command as a shell does in the foreground.

    Tells when it is stopped, and continues it when a byte comes."""
    foreground, ready = os.pipe()
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.read(foreground, 1)  # what is typed before that goes to the shell
        os.execv(arguments[0], arguments)
    with suppress(OSError):
        os.setpgid(job, job)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, job)
    os.write(ready, b"x")
    while os.WIFSTOPPED(status := os.waitpid(job, os.WUNTRACED)[1]):
        os.tcsetpgrp(0, os.getpgrp())
        print("stopped", flush=True)
        os.read(commands, 1)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os._exit(os.waitstatus_to_exitcode(status))


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

    def test_suspend_key_of_a_terminal(self) -> None:
        """It stops all ranks, and fg continues them."""
        commands, shell_end = os.pipe()
        # A shell that waits for the start of a child, by vfork(), is not stopped: none starts here.
        script = 'echo "pid $$"; while read x; do echo "got <$x>"; done; exec sleep 100'
        pid, terminal = pty.fork()
        if pid == 0:
            as_shell(command("-n", "2", "sh", "-c", script), commands)
        try:
            seen = read_until(terminal, b"[0] pid ")
            while seen.count(b"pid ") < 2 or not seen.endswith(b"\n"):
                seen += read_until(terminal, b"\n")
            ranks = [int(found) for found in re.findall(rb"pid (\d+)", seen)]
            for word in (b"one", b"two"):
                os.write(terminal, b"\x1a")
                self.assertIn(b"stopped", read_until(terminal, b"stopped"))
                self.assertTrue(wait_until(lambda: {state_of(rank) for rank in ranks} == {"T"}))
                os.write(shell_end, b"x")
                self.assertTrue(wait_until(lambda: "T" not in {state_of(rank) for rank in ranks}))
                os.write(terminal, word + b"\n")
                expected = b"[0] got <" + word + b">"
                self.assertIn(expected, read_until(terminal, expected))
            os.write(terminal, b"\x03")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        finally:
            for end in (terminal, commands, shell_end):
                os.close(end)

    def test_a_rank_that_reads_the_terminal_itself(self) -> None:
        """It is in the background there, and stopped."""
        pid, terminal = pty.fork()
        if pid == 0:
            script = "[ $PMI_RANK = 1 ] && read x </dev/tty; exec sleep 100"
            os.execv(command()[0], command("-n", "2", "sh", "-c", script))
        try:
            said = read_until(terminal, b"standard input")
            self.assertIn(b"rank 1 is stopped by SIGTTIN", said)
            os.write(terminal, b"\x03")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
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

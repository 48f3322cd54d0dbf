# SPDX-License-Identifier: BSD-3-Clause
"""Running omplrun from tests, with a time limit on everything, and finding what it leaves behind.

A test program is called with the paths of omplrun and of bootstrap_ranks."""

import os
import secrets
import signal
import subprocess
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LIMIT = 240.0  # seconds that any run may take
OMPLRUN, RANKS = sys.argv[1:3]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def command(*arguments: str) -> list[str]:
    return [OMPLRUN, *arguments]


def run(*arguments: str, stdin: str = "", before: Callable[[], None] | None = None) -> Done:
    """Runs omplrun with these arguments to its end; `before` in its process, before it."""
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=before,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def shell(ranks: int, script: str, *options: str, stdin: str = "") -> Done:
    """Runs `ranks` shells with this script; $PMI_RANK tells them apart."""
    return run("-n", str(ranks), *options, "sh", "-c", script, stdin=stdin)


@contextmanager
def started(
    *arguments: str, before: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """omplrun while it runs. Whatever happens, it is gone afterwards."""
    with subprocess.Popen(
        command(*arguments),
        preexec_fn=before,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next `count` lines of standard output."""
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def ended(process: subprocess.Popen[str]) -> Done:
    """The end of a process that is about to end."""
    out, err = process.communicate(timeout=LIMIT)
    return Done(process.returncode, out, err)


def wait_until(condition: Callable[[], bool]) -> bool:
    """Whether the condition becomes true within the limit."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def token() -> str:
    """A number of seconds to sleep that no other process sleeps: it marks a test's processes."""
    return f"{300 + secrets.randbelow(100)}.{secrets.randbelow(10**12):012d}"


def processes_with(mark: str) -> list[int]:
    """All processes with the mark in their command line, but for this one and zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has just ended
    return found


def main() -> None:
    signal.alarm(int(2 * LIMIT))
    unittest.main(argv=sys.argv[:1], verbosity=2)

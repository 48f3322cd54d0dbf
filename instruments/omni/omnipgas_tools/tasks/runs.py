# SPDX-License-Identifier: BSD-3-Clause
"""One run of Task Bench: a job, and what it says of itself."""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.tasks.plan import Contender

GRACE = 5.0  # seconds beyond the limit that a launcher has to end its ranks itself
SECONDS = re.compile(r"Elapsed Time (\S+) seconds")
TASKS = re.compile(r"Total Tasks (\d+)")
RATE = re.compile(r"FLOP/s (\S+)")


@dataclass(frozen=True)
class Run:
    """Of the part that Task Bench times."""

    seconds: float
    tasks: int
    rate: float  # floating-point operations a second, of all cores

    def granularity(self, cores: int) -> float:
        """Microseconds that each task has of the cores."""
        return self.seconds * cores / self.tasks * 1e6


def said(contender: Contender, arguments: Sequence[str], timeout: float) -> str:
    """What a job prints from its start to its end. Raises WorkerError."""
    command = [*contender.command, *arguments]
    try:
        process = subprocess.Popen(
            command, env=contender.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise WorkerError("crashed", f"{command[0]}: {error.strerror}") from error
    try:
        printed, complaint = process.communicate(timeout=timeout + GRACE)
    except subprocess.TimeoutExpired as late:
        raise WorkerError("hung", f"no end within {timeout:g} s") from late
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        text = " ".join((complaint.strip() or printed.strip())[-300:].split())
        raise WorkerError("crashed", f"ended with status {process.returncode}: {text}")
    return printed


def run(contender: Contender, arguments: Sequence[str], timeout: float) -> Run:
    """Task Bench to its end. Raises WorkerError."""
    printed = said(contender, arguments, timeout)
    found = [pattern.search(printed) for pattern in (SECONDS, TASKS, RATE)]
    if any(one is None for one in found):
        raise WorkerError("corrupt", "it prints no elapsed time, tasks and FLOP/s, as Task Bench does")
    seconds, tasks, rate = (one[1] for one in found if one)
    return Run(float(seconds), int(tasks), float(rate))

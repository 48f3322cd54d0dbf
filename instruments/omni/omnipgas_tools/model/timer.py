# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program untraced and times it: instruments/trace/timer.c, preloaded."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from omnipgas_tools.model.program import ModelError, built

PATIENCE = 10  # seconds that a launcher has to end its ranks


class TimerError(ModelError):
    """A run that gave no time; the text says why."""


@dataclass(frozen=True)
class Times:
    """Of one run, the slowest rank's."""

    seconds: float  # from the end of MPI_Init to the begin of MPI_Finalize
    region: float | None  # between MPI_Pcontrol(1) and MPI_Pcontrol(0)

    @property
    def asked(self) -> float:
        """Of the marked part, if there is one."""
        return self.seconds if self.region is None else self.region


def run(command: list[str], limit: float, env: dict[str, str] | None = None) -> Times:
    """Runs it to its end. `env`: all variables to run it with, if not those of this process."""
    library = built("lib/libompl-timer.so")
    env = dict(os.environ if env is None else env)
    others = env.get("LD_PRELOAD")
    env["LD_PRELOAD"] = f"{library}:{others}" if others else library
    with tempfile.TemporaryDirectory(prefix="omni-timer-") as folder:
        env["OMPL_TIMER_DIR"] = folder
        finish(command, env, limit)
        files = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
    if not files:
        raise TimerError("no process of the program came from MPI_Init to MPI_Finalize")
    regions = [one["region_seconds"] for one in files if one["region_seconds"] is not None]
    return Times(max(one["seconds"] for one in files), max(regions, default=None))


def finish(command: list[str], env: dict[str, str], limit: float) -> None:
    """Runs a program to its end, unheard; TimerError if that is not a good one."""
    try:
        job = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    except OSError as error:
        raise TimerError(f"{command[0]}: {error.strerror}") from error
    try:
        _, errors = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired as expired:
        raise TimerError(f"the program did not end in {limit:g} s; --timeout gives it longer") from expired
    finally:
        end(job)
    if job.returncode != 0:
        raise TimerError(f"the program ended with status {job.returncode}\n{errors.strip()}".strip())


def end(job: subprocess.Popen[str]) -> None:
    """Ends a launcher that still runs; it ends its ranks if it can."""
    job.terminate()
    try:
        job.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()

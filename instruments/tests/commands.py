# SPDX-License-Identifier: BSD-3-Clause
"""How tests start commands, and what these say."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BUILD = Path(os.environ["OMNI_BUILD_DIR"])
MODEL = BUILD / "bin/ompl-model"
LIMIT = 240  # seconds of a command
OMNI = (sys.executable, "-m", "omnipgas_tools.cli")


def run(*command: object, check: bool = False, **how: Any) -> subprocess.CompletedProcess[str]:
    """A command to its end, with success where that is checked; `how` as subprocess.run() has it."""
    how = {"capture_output": True, "text": True, "timeout": LIMIT} | how
    done: subprocess.CompletedProcess[str] = subprocess.run([str(part) for part in command], check=False, **how)
    assert done.returncode == 0 or not check, f"{done.args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def omni(*arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """omni ..., as a user types it."""
    return run(*OMNI, *arguments, **how)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said that failed, in one line."""
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def predict(*arguments: object, fails: bool = False) -> Any:
    """What the replayer predicts, on Myrinet unless something else is said; or why it cannot."""
    machine = () if "--params" in arguments else ("--params", "myrinet")
    done = run(MODEL, "predict", *arguments, *machine, "--no-sensitivity")
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else json.loads(done.stdout)


def unframed(text: str) -> str:
    """What a command said, without the frame and the line breaks of a terminal."""
    return " ".join(text.replace("│", " ").split())

# SPDX-License-Identifier: BSD-3-Clause
"""The checks of the layer itself: those of ompl-info --check."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnipgas_tools import documents, interrupts
from omnipgas_tools.doctor.findings import SCHEMA_FILE, STATUS, Finding

NAME = "ompl-info"
LIMIT = 600.0  # seconds; each of its checks has a limit of its own


class UnknownError(Exception):
    """Why nothing is known of the layer."""


def run(command: Sequence[str | Path], limit: float, more: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit status, output and errors of a program, which is ended with all that it has started when the time is over.
    Raises OSError, subprocess.TimeoutExpired."""
    with interrupts.Held() as held, subprocess.Popen(
        command, env={**os.environ, **(more or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            held.release()
            out, err = process.communicate(timeout=limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, err


def program(build: Path) -> Path:
    """ompl-info of the build or of the installation. Raises UnknownError."""
    for place in (build / "bin" / NAME, Path(sys.prefix) / "bin" / NAME, Path(shutil.which(NAME) or "")):
        if place.is_file():
            return place
    raise UnknownError(f"there is no {NAME} in {build / 'bin'} nor on the PATH")


def ask(build: Path, options: Sequence[str]) -> tuple[dict[str, Any], list[Finding]]:
    """The document of ompl-info --check with these options, and its findings. Raises UnknownError."""
    path = program(build)
    try:
        status, out, err = run([path, "--check", "--json", *options], LIMIT)
        if status not in STATUS.values():
            raise UnknownError(f"{path} ended with {status}: {err.strip()[-300:]}")
        found = documents.parse(out, str(path), SCHEMA_FILE)
    except (OSError, subprocess.TimeoutExpired, documents.DocumentError) as error:
        raise UnknownError(f"{path}: {error}") from error
    return found, [Finding(**one) for one in found["findings"]]

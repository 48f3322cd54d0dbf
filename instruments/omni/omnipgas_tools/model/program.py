# SPDX-License-Identifier: BSD-3-Clause
"""Runs ompl-model, which reads, converts and replays traces."""

import subprocess

from omnipgas_tools.libraries import catalog

NAME = "ompl-model"


class ModelError(Exception):
    """Why a command of omni model cannot go on."""


class PredictionError(ModelError):
    """What could not be predicted or converted, and why."""


def built(name: str) -> str:
    """A file of the build; raises PredictionError."""
    program = catalog.build_dir() / name
    if not program.is_file():
        raise PredictionError(f"{program} is not built: run make")
    return str(program)


def run(*arguments: object, given: str | None = None, heard: bool = True) -> subprocess.CompletedProcess[str]:
    """One command of it to its end, with `given` as standard input; its standard output is kept if it is `heard`.
    Raises PredictionError."""
    done = subprocess.run(
        [built(f"bin/{NAME}"), *map(str, arguments)], input=given, stdout=subprocess.PIPE if heard else None,
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        text = done.stderr.strip().removeprefix(f"{NAME}: ")
        raise PredictionError(text or f"{NAME} ended with status {done.returncode}")
    return done

# SPDX-License-Identifier: BSD-3-Clause
"""The result file of a study, which grows step by step, so that a study that was ended can go on."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omnipgas_tools import documents, files
from omnipgas_tools.measure import results
from omnipgas_tools.study.plan import Plan

SCHEMA = "omnipgas-study-halo-1"
SECTIONS = ("partitions", "exchanges", "neighbors", "solves", "compute", "modelled")


class StoreError(Exception):
    """A file that cannot be gone on with; the text says why."""


class Store:
    """Steps by section and name, each written as soon as it is known."""

    def __init__(self, path: Path, plan: Plan, params: dict[str, str], resume: bool) -> None:
        self.path = path
        asked = {"schema": SCHEMA, "plan": asdict(plan), "params": params}
        self.content: dict[str, Any] = asked | {"machine": results.machine()} | {name: {} for name in SECTIONS}
        if resume and path.exists():
            before = _read(path)
            if any(before.get(key) != value for key, value in asked.items()):
                raise StoreError(f"{path} is of another study: give the same options, or another file")
            self.content = before
        self._write()

    def step(self, section: str, name: str, make: Callable[[], Any]) -> Any:
        """What stands in the file, or what is made now."""
        steps = self.content[section]
        if name not in steps:
            steps[name] = make()
            self._write()
        return steps[name]

    def _write(self) -> None:
        try:
            files.write(self.path, json.dumps(self.content, indent=1, allow_nan=False) + "\n")
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        content = documents.load(path)
    except documents.DocumentError as error:
        raise StoreError(str(error)) from error
    if not isinstance(content, dict) or any(not isinstance(content.get(name), dict) for name in SECTIONS):
        raise StoreError(f"{path}: not the result of a study")
    return content

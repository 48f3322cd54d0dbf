# SPDX-License-Identifier: BSD-3-Clause
"""Runs ompl_partition: what partitions of a matrix cost."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from omnipgas_tools.halo.pattern import Pattern
from omnipgas_tools.libraries import catalog

KINDS = ("row", "entries", "kway", "recursive", "blocks")
DOUBLE = 8  # bytes

Cost = dict[str, Any]  # a line of ompl_partition


class PartitionError(Exception):
    """What could not be cut, and why."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code  # exit status


def program(name: str) -> Path:
    """One of the solver's programs; raises catalog.MissingError."""
    path = catalog.build_dir() / "bin" / name
    if not path.is_file():
        raise catalog.MissingError(f"{path} does not exist: build the project, or set OMNI_BUILD_DIR")
    return path


def costs(
    matrix: str, kinds: Sequence[str], parts: Sequence[int], timeout: float, *, messages: bool = False
) -> Iterator[Cost]:
    """Of each kind and number of parts, as soon as it is known. With `messages` also `each`: rows, entries and cut
    entries of each part; and `messages`: from, to and values. Raises PartitionError, catalog.MissingError."""
    line = ["timeout", str(timeout), str(program("ompl_partition")), matrix]
    line += [f"--partition={','.join(kinds)}", f"--parts={','.join(map(str, parts))}"]
    line += ["--messages"] if messages else []
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stderr is not None
        try:
            yield from map(json.loads, job.stdout)
            said = job.stderr.read().strip()
        finally:
            job.terminate()
    if job.returncode != 0:
        late = job.returncode == 124  # as timeout says it
        why = f"it took more than {timeout:g} s" if late else f"it ended with status {job.returncode}"
        raise PartitionError(said or why, job.returncode)


def pattern(cost: Cost) -> Pattern:
    """The exchange behind a product: bytes from each part to each."""
    return Pattern(cost["parts"], {(one, other): DOUBLE * values for one, other, values in cost["messages"]})

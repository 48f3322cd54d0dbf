# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of jobs share: starting them, matrices in files, and conjugate gradients written once more."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import commands
import numpy as np
import numpy.typing as npt
import pytest
from commands import BUILD, LIMIT

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Done:
    """A job that has ended."""

    code: int
    result: dict[str, Any]  # empty if it found none
    errors: str


def command(ranks: int, *arguments: object, keep_going: bool = False, limit: float = LIMIT) -> list[str]:
    """The command line of a job of ompl_cg."""
    more = ["--keep-going"] if keep_going else []
    launcher = [BUILD / "bin/omplrun", "--no-prefix", *more, "--timeout", limit, "-n", ranks]
    return list(map(str, [*launcher, BUILD / "bin/ompl_cg", *arguments]))


def run(ranks: int, *arguments: object, limit: float = LIMIT, **environment: str) -> Done:
    """A job to its end; omplrun ends one that hangs."""
    job = commands.run(*command(ranks, *arguments, limit=limit), env=os.environ | environment, timeout=None)
    lines = [json.loads(line) for line in job.stdout.splitlines()]
    found = [line["result"] for line in lines if "result" in line]
    assert len(found) <= 1, job.stdout
    return Done(job.returncode, found[0] if found else {}, job.stderr)


def solved(ranks: int, *arguments: object, limit: float = LIMIT) -> dict[str, Any]:
    """What a job found that must solve its problem; a skip where it lacks METIS."""
    done = run(ranks, *arguments, limit=limit)
    if "built without METIS" in done.errors:
        pytest.skip(done.errors.strip().splitlines()[0])
    assert done.code == 0, f"{arguments} on {ranks}: {done.code}\n{done.errors}"
    return done.result


def children_of(parent: int, name: str) -> list[int]:
    """The processes of that name that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "status").read_text()
        except OSError:
            continue
        if f"\nPPid:\t{parent}\n" in status and status.startswith(f"Name:\t{name}\n"):
            found.append(int(entry.name))
    return found


def stencil_27(x: Vector, size: Sequence[int]) -> Vector:
    """The 27-point matrix times x: 27 x less the sum of the neighbourhood."""
    nx, ny, nz = size
    cube = x.reshape(nz, ny, nx)
    padded = np.pad(cube, 1)
    y = 27 * cube
    for dz in range(3):
        for dy in range(3):
            for dx in range(3):
                y = y - padded[dz : dz + nz, dy : dy + ny, dx : dx + nx]
    return y.ravel()


def conjugate_gradients(multiply: Callable[[Vector], Vector], b: Vector, tolerance: float) -> list[float]:
    """The history of |r| / |b| from x = 0 on, as the textbooks have it."""
    r = b.copy()
    p = r.copy()
    rr = bb = float(r @ r)
    history = [1.0]
    while history[-1] > tolerance:
        q = multiply(p)
        r = r - rr / float(p @ q) * q
        rr, before = float(r @ r), rr
        p = r + rr / before * p
        history.append((rr / bb) ** 0.5)
    return history


def write_matrix(path: Path, dense: Vector, symmetry: str = "general") -> Path:
    """A Matrix Market file of the entries that are not 0; of a symmetric matrix the lower triangle."""
    where = [(i, j) for i, j in np.argwhere(dense) if symmetry == "general" or i >= j]
    head = f"%%MatrixMarket matrix coordinate real {symmetry}\n{dense.shape[0]} {dense.shape[1]} {len(where)}\n"
    path.write_text(head + "".join(f"{i + 1} {j + 1} {float(dense[i, j])!r}\n" for i, j in where))
    return path


def write_vector(path: Path, values: Vector) -> Path:
    """A Matrix Market array of one column."""
    numbers = "".join(f"{value!r}\n" for value in values.tolist())
    path.write_text(f"%%MatrixMarket matrix array real general\n{len(values)} 1\n{numbers}")
    return path


def read_vector(path: Path) -> Vector:
    """The numbers of such a file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    values = np.array([float(line) for line in lines[1:]])
    assert lines[0] == f"{len(values)} 1"
    return values

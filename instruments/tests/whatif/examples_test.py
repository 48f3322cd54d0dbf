# SPDX-License-Identifier: BSD-3-Clause
"""Every program of examples/mpi under every MPI says that its result is right; eager limits are where they are set."""

from pathlib import Path

import pytest
from commands import BUILD, run
from omnipgas_tools.model import examples
from omnipgas_tools.model.fit import eager

from . import common

RUNS = [
    ("gauss", ["101"], 2),
    ("gauss", ["256", "512"], 3),
    ("gauss", ["256"], 4),
    ("halo", ["20", "30"], 4),
    ("halo", ["20", "30"], 3),
    ("workers", ["20", "100"], 3),
    ("transpose", ["24", "3"], 3),
    ("transpose", ["24", "2", "alltoall"], 4),
    ("pipeline", ["10", "300", "20"], 3),
]


@pytest.mark.parametrize("mpi", common.MPIS)
@pytest.mark.parametrize(("name", "arguments", "ranks"), RUNS, ids=lambda part: str(part))
def test_result_is_right(mpi: str, name: str, arguments: list[str], ranks: int) -> None:
    launch = common.launch(mpi, ranks)
    program = examples.program(BUILD, mpi, name)
    out = common.run(launch.line(ranks, program, arguments), launch.environment())
    assert examples.SECONDS.search(out), out
    assert out.startswith(f"{name} ") and out.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("gauss", ["x"]), ("transpose", ["8", "1", "spiral"]), ("halo", ["0"])],
)
def test_bad_arguments_are_named(name: str, arguments: list[str]) -> None:
    launch = common.launch("mpich", 1)
    program = examples.program(BUILD, "mpich", name)
    err = common.run(launch.line(1, program, arguments), launch.environment(), ok=False)
    assert arguments[-1] in err.splitlines()[0]


def compiler(launch: examples.Launch, tmp_path: Path) -> Path:
    """instruments/tests/whatif/eager.c, compiled."""
    made = tmp_path / "eager"
    mpicc = Path(launch.command[0]).parent / "mpicc"
    source = Path(__file__).with_name("eager.c")
    run(mpicc, source, "-o", made, env=launch.environment(), check=True)
    return made


@pytest.mark.parametrize("mpi", [mpi for mpi in ("mpich", "openmpi") if mpi in common.MPIS])
@pytest.mark.parametrize("limit", [2048, 16383, 65536])
def test_eager_limit_is_where_it_is_set(mpi: str, limit: int, tmp_path: Path) -> None:
    launch = common.launch(mpi, 2)
    settings = eager.limit(mpi, limit)
    assert settings is not None
    lengths = [limit // 2, limit, limit + 1, 2 * limit]
    out = common.run(launch.line(2, compiler(launch, tmp_path), lengths), launch.environment(settings))
    assert out.split() == [str(part) for length in lengths for part in (length, int(length <= limit))]


def test_an_mpi_without_a_limit_to_set() -> None:
    assert eager.limit("intel", 4096) is None

# SPDX-License-Identifier: BSD-3-Clause
"""OSU's micro-benchmarks of collectives, blocking and nonblocking, with the interposer and without: each checks its own
data. Their sources, of version 7, are not part of this project: OMPL_OSU_SOURCE names their folder."""

import os
import re
from dataclasses import replace
from pathlib import Path

import commands
import pytest
from commands import BUILD
from launching import LIMIT, SETTINGS, launcher
from omnipgas_tools.libraries.compilers import Target, targets
from omnipgas_tools.model.build_examples import c_compiler

SOURCE = Path(os.environ.get("OMPL_OSU_SOURCE") or "none") / "c"
MPIS = ("mpich", "openmpi-debian")
FUNCTIONS = {
    "blocking": ("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
                 "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv"),
    "non_blocking": ("iallgather", "iallgatherv", "iallreduce", "ialltoall", "ialltoallv", "ibarrier", "ibcast",
                     "igather", "igatherv", "ireduce", "ireduce_scatter", "iscatter", "iscatterv"),
}  # fmt: skip
NAMES = [f"osu_{name}" for names in FUNCTIONS.values() for name in names]
FEW = ["-i", "10", "-x", "2"]  # iterations, and those before
SIZES = ["-m", "4:131072"]  # bytes
UTILITIES = ("osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi", "osu_util_validation")

pytestmark = pytest.mark.skipif(
    not SOURCE.is_dir(), reason=f"no sources of OSU's micro-benchmarks: {SOURCE}; set OMPL_OSU_SOURCE to their folder"
)


@pytest.fixture(scope="module", params=MPIS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, Path]:
    """All programs, compiled for an MPI."""
    found = {target.name: target for target in targets(BUILD)[0]}
    if request.param not in found:
        pytest.skip(f"{request.param} is not installed")
    target, folder = found[request.param], tmp_path_factory.mktemp("osu")
    compiler = replace(target, compiler=c_compiler(target.compiler))
    inside = ["-O2", "-w", "-DFIELD_WIDTH=18", "-DFLOAT_PRECISION=2", '-DPACKAGE_VERSION="7"', f"-I{SOURCE / 'util'}"]
    objects = []
    for name in UTILITIES:
        objects.append(folder / f"{name}.o")
        compiler.run(*inside, "-c", SOURCE / f"util/{name}.c", "-o", objects[-1])
    for kind, names in FUNCTIONS.items():
        for name in names:
            source = SOURCE / f"mpi/collective/{kind}/osu_{name}.c"
            compiler.run(*inside, source, *objects, "-o", folder / f"osu_{name}", "-lm", "-lpthread")
    return target, folder


def lengths(text: str) -> list[str]:
    """The bytes of each row of a benchmark's table, and what its check says."""
    rows = [line.split() for line in text.splitlines() if re.match(r"\s*\d", line)]
    return [f"{row[0]} {row[-1] if row[-1].isalpha() else ''}" for row in rows]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_finds_its_data_right(built: tuple[Target, Path], name: str, ranks: int) -> None:
    target, folder = built
    barrier = "barrier" in name
    line = [*launcher(target, ranks), str(folder / name), *FEW, *([] if barrier else ["-c", *SIZES])]
    environment = os.environ | target.env | SETTINGS
    plain = commands.run(*line, env=environment, timeout=LIMIT)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    served = commands.omni("collectives", "--statistics", "--", *line, env=environment, timeout=LIMIT)
    assert served.returncode == 0, served.stdout + served.stderr
    rows = lengths(served.stdout)
    if not barrier:
        assert rows == lengths(plain.stdout) and len(rows) == 16, served.stdout
        assert all(row.endswith(" Pass") for row in rows), served.stdout
    function = "MPI_" + name.removeprefix("osu_").removeprefix("i").capitalize()
    counts = re.search(rf"libompl-coll: {function} (\d+) (\d+)", served.stderr)
    calls = 12 if barrier else 12 * len(rows)  # at least; the layer itself makes a few of MPI's when it begins
    assert counts and int(counts[1]) >= calls and int(counts[2]) < 10, served.stderr

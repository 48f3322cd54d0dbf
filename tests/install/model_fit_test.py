# SPDX-License-Identifier: BSD-3-Clause
"""The workers of omni model fit and omni halo and the program of omni model study, compiled by an installation."""

from __future__ import annotations

import json
import sys

from .conftest import Installed

MEASURES = """
import sys
from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.model import build_examples
from omnipgas_tools.measure.worker import Worker

build = catalog.build_dir()
with Worker(installation.find(catalog.table(build)["mpi"], build, "roundtrip"), 1, 1024) as worker:
    print(worker.roundtrip("send", 1024, 5, 0, 30)[0]["seconds"] > 0, build_examples.ready(build, "mpi", "gauss"))
"""


def test_a_machine_is_measured_and_the_study_has_its_program(installed: Installed) -> None:
    right, gauss = installed.run(sys.executable, "-c", MEASURES)[0].split()
    assert right == "True"
    assert "right" in installed.run("mpiexec", "-n", "2", gauss, "64")[0]


def test_halos_are_exchanged_by_the_mpi_of_the_path(installed: Installed) -> None:
    output, _ = installed.run(
        sys.executable, "-m", "omnipgas_tools.cli", "halo", "--mpi", "mpi", "--repetitions", "2", "--seconds", "0.001",
        "--json", "-",
    )  # fmt: skip
    assert [(row["op"], row["status"]) for row in json.loads(output)["results"]] == [
        ("double-buffer", "ok"), ("mpi", "ok"),
    ]  # fmt: skip

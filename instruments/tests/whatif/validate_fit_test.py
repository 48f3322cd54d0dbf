# SPDX-License-Identifier: BSD-3-Clause
"""omni model validate without parameters measures the machine first."""

import json

from commands import BUILD, omni
from omnipgas_tools.model import examples

from . import common

FIT_LIMIT = 500  # seconds


def test_a_machine_is_measured_before_anything_is_predicted() -> None:
    launch = common.launch("mpich", 2)
    job = launch.line(2, examples.program(BUILD, "mpich", "pipeline"), [20])
    options = ("--runs", 2, "--json", "-")
    done = omni("model", "validate", *options, "--", *job, env=launch.environment(), timeout=FIT_LIMIT, check=True)
    found = json.loads(done.stdout)
    assert "mpich" in found["machine"] and len(found["measured"]["runs"]) == 2
    parameters = found["prediction"]["parameters"]
    assert parameters["S"] > 0 and parameters["o"] + parameters["L"] > 0
    assert "L" in done.stderr  # the fit says what it found

# SPDX-License-Identifier: BSD-3-Clause
"""omni model validate without parameters measures the machine first."""

from __future__ import annotations

import json
import subprocess
import sys

from omnipgas_tools.model import examples

from . import common

FIT_LIMIT = 500  # seconds


def test_a_machine_is_measured_before_anything_is_predicted() -> None:
    launch = common.launch("mpich", 2)
    job = launch.line(2, examples.program(common.BUILD, "mpich", "pipeline"), [20])
    line = [sys.executable, "-m", "omnipgas_tools.cli", "model", "validate", "--runs", "2", "--json", "-", "--", *job]
    done = subprocess.run(
        line, env=launch.environment(), capture_output=True, text=True, timeout=FIT_LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "mpich" in found["machine"] and len(found["measured"]["runs"]) == 2
    parameters = found["prediction"]["parameters"]
    assert parameters["S"] > 0 and parameters["o"] + parameters["L"] > 0
    assert "L" in done.stderr  # the fit says what it found

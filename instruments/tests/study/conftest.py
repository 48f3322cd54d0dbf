# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a machine of round numbers."""

import json
from pathlib import Path

import pytest
from model.common import parameter_file

LATENCY, OVERHEAD = 1000.0, 500.0  # ns
OSS, ORS, GS = 0.25, 0.5, 1.0  # ns/byte


@pytest.fixture(scope="session")
def params(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parameter file; no message is long."""
    slopes = {"Oss": OSS, "Osl": OSS, "Ors": ORS, "Orl": ORS, "Gs": GS, "Gl": GS}
    values = {"L": LATENCY, "o": OVERHEAD, **slopes, "s": 1 << 30, "S": 1 << 30}
    path = tmp_path_factory.mktemp("params") / "params.json"
    path.write_text(json.dumps(parameter_file("loggps", values)))
    return path

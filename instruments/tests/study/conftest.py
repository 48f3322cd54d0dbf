# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a machine of round numbers."""

import json
from pathlib import Path

import pytest

LATENCY, OVERHEAD = 1000.0, 500.0  # ns
OSS, ORS, GS = 0.25, 0.5, 1.0  # ns/byte


@pytest.fixture(scope="session")
def params(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parameter file; no message is long."""
    times = {"L": LATENCY, "o": OVERHEAD}
    slopes = {"Oss": OSS, "Osl": OSS, "Ors": ORS, "Orl": ORS, "Gs": GS, "Gl": GS}
    lengths = {name: {"value": 1 << 30, "unit": "bytes"} for name in ("s", "S")}
    loggps = {name: {"value": value, "unit": "ns"} for name, value in times.items()}
    loggps |= {name: {"value": value, "unit": "ns/byte"} for name, value in slopes.items()}
    path = tmp_path_factory.mktemp("params") / "params.json"
    path.write_text(json.dumps({"machine": "round", "models": {"loggps": loggps | lengths}}))
    return path

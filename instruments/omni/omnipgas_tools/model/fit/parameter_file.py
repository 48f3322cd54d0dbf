# SPDX-License-Identifier: BSD-3-Clause
"""The file of parameters: `omni model fit` writes it, the replayer reads it (format: docs/how-to/model-fit.md)."""

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omnipgas_tools import documents, files
from omnipgas_tools.model.fit.curves import Estimate
from omnipgas_tools.model.fit.fitting import Fit
from omnipgas_tools.model.fit.measurements import DataError, Measurements
from omnipgas_tools.model.fit.segments import Curve

SCHEMA = "omnipgas-model-1"
SETTINGS = re.compile("EAGER|RNDV|RENDEZVOUS|P2P_THRESHOLD|CELL_SIZE|BUFFER_SIZE", re.IGNORECASE)
FAMILIES = re.compile("^(MPIR_CVAR_|I_MPI_|OMPI_MCA_|UCX_|FI_|OMPL_)")
SIZE = re.compile(r"(\d+)([kKmM]?)[bB]?")
HEADERS = 128  # bytes by which a library's limit may differ from what the program may send


def limits(details: dict[str, str], environment: dict[str, str]) -> dict[str, int]:
    """The library's settings that are lengths at which a protocol may end, from its own account and the environment."""
    named = {k: v for k, v in environment.items() if FAMILIES.match(k) and SETTINGS.search(k)}
    found = {}
    for name, text in {**details, **named}.items():
        if SETTINGS.search(name) and (size := SIZE.fullmatch(text)) and int(size[1]) > 1:
            found[name] = int(size[1]) << {"": 0, "k": 10, "m": 20}[size[2].lower()]
    return found


def agreeing(length: int | None, known: dict[str, int]) -> list[str]:
    """The settings that say this length, but for a header."""
    return [] if length is None else [name for name, value in known.items() if -1 <= value - length <= HEADERS]


def quantities(values: dict[str, Estimate]) -> dict[str, Any]:
    """A model's parameters."""
    return {name: estimate.to_json() for name, estimate in values.items()}


def models(fit: Fit) -> dict[str, Any]:
    """The parameters of all models, as the replayer reads them."""
    lengths = {"s": fit.s.to_json(), "S": fit.S.to_json()}
    for one in lengths.values():
        one["value"] = int(one["value"])
    units = {"bytes": "bytes", "o_send": "ns", "o_recv": "ns", "G": "ns/byte"}
    rows = [{name: {"value": row[name], "unit": unit} for name, unit in units.items()} for row in fit.rows]
    out: dict[str, Any] = {name: quantities(values) for name, values in fit.values.items()}
    for name in ("loggps", "loggp-2"):
        out[name] |= lengths
    out["loggops"] |= {"S": lengths["S"]}
    out["loggp-1"]["lengths"] = rows
    if fit.curve is not None:
        out["curve"] = curve(fit.curve, lengths["S"])
    return out


def curve(found: Curve, S: dict[str, Any]) -> dict[str, Any]:
    """The model of segments: what the replayer reads, and the segments with their intervals."""
    units = {"bytes": "bytes", "o_send": "ns", "o_recv": "ns", "wire": "ns"}
    return {
        "L": {"value": found.latency, "unit": "ns"},
        "S": S,
        "knots": [{name: {"value": row[name], "unit": unit} for name, unit in units.items()} for row in found.knots],
        "segments": [
            {
                "first": one.first, "last": one.last, "first_low": one.begins[0], "first_high": one.begins[1],
                "one_way": [end.to_json() for end in one.one_way],
            }
            for one in found.segments
        ],
    }  # fmt: skip


def operation(fit: Fit, known: dict[str, int]) -> dict[str, Any]:
    """All that is known of one operation."""
    m = fit.measurements
    return {
        "models": models(fit),
        "unidentified": {"parameters": fit.unidentified, "identified_sums": fit.sums},
        "lengths": {
            "s": fit.lengths.s,
            "S": fit.lengths.S,
            "by_curves": asdict(fit.by_curves),
            "no_wait_for_a_receiver_that_computes": m.eager_up_to,
            "no_wait_for_a_receiver_in_the_library": m.unmatched_up_to,
            "settings": known,
            "settings_that_agree": agreeing(fit.lengths.S, known),
        },
        "tests": [{**asdict(test), "estimate": test.estimate.to_json()} for test in fit.tests],
        "g": {"contained_in_o": fit.o_contains_g, "bursts": fit.gaps},
        "relative_errors": fit.errors,
        "measurements": m.to_json(),
    }


def environment() -> dict[str, str]:
    """The variables that steer libraries."""
    return {name: value for name, value in sorted(os.environ.items()) if FAMILIES.match(name)}


def write(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all; raises DataError."""
    try:
        files.write(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def read(path: Path) -> dict[str, Any]:
    """A file that was written here; raises DataError."""
    try:
        content = documents.load(path)
    except documents.DocumentError as error:
        raise DataError(str(error)) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise DataError(f"{path} is no file of omni model fit of this version ({SCHEMA})")
    return content


def read_measurements(path: Path) -> tuple[dict[str, Any], dict[str, Measurements]]:
    """A file that was written here, and the measurements in it; raises DataError."""
    content = read(path)
    try:
        found = {name: Measurements.from_json(one["measurements"]) for name, one in content["operations"].items()}
        content["library"]["settings"].items(), content["command"]["environment"].items()
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} has no measurements, or not what was measured, in it: {error!a}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if not found:
        raise DataError(f"{path} has no measurements in it")
    return content, found

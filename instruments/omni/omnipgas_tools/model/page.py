# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report: one HTML file that holds all it needs and asks for nothing."""

import base64
import shlex
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from omnipgas_tools import __version__
from omnipgas_tools.model import predict
from omnipgas_tools.model.timelines import PARTS, Timeline, lanes
from omnipgas_tools.report import web_page

WEB = Path(__file__).parent / "web"
SCRIPTS = ("lanes.js", "timeline.js", "page.js")
COMPRESSION = 6
MEANINGS = {
    "L": "latency of the network",
    "o": "overhead of a call",
    "o_short": "overhead of a call, short messages",
    "o_long": "overhead of a call, long messages",
    "g": "gap between two messages",
    "G": "gap for each byte",
    "G_short": "gap for each byte, short messages",
    "G_long": "gap for each byte, long messages",
    "O": "overhead for each byte",
    "Oss": "sender's overhead for each byte, up to s",
    "Ors": "receiver's overhead for each byte, up to s",
    "Gs": "gap for each byte, up to s",
    "Osl": "sender's overhead for each byte above s",
    "Orl": "receiver's overhead for each byte above s",
    "Gl": "gap for each byte above s",
    "s": "longest message of one packet",
    "S": "longest message sent without synchronization",
    "compute": "factor of all computation",
}
LENGTHS = {"s", "S"}
TIMES = {"L", "o", "o_short", "o_long", "g"}
NO_LIMIT = 2**63  # bytes; the S of a machine that never synchronizes


@dataclass
class Report:
    """What the page shows."""

    prediction: dict[str, Any]  # as omni model predict --json gives it
    timeline: Timeline
    fitted: dict[str, Any] | None  # the parameter file, if there is one
    warnings: list[str]
    whatif: list[dict[str, Any]] | None = None  # changes, the best first
    validation: dict[str, Any] | None = None  # as omni model validate --json gives it


def write(path: Path, report: Report) -> None:
    """Writes the page."""
    directory, packed = pack(columns(report.timeline))
    model = report.prediction["model"]
    fitted = ((report.fitted or {}).get("models") or {}).get(model) or {}
    data = {
        "prediction": report.prediction,
        "model": model,
        "directory": directory,
        "lanes": [
            {"name": name, "rank": row.get("rank", number), **{part: row[part] for part in PARTS}}
            for number, (name, row) in enumerate(lanes(report.prediction))
        ],
        "left_out": report.prediction["timeline"]["left_out"],
        "units": {name: unit(name) for name in report.prediction["parameters"]},
        "meanings": MEANINGS,
        "parameters": [parameter(name, value, fitted) for name, value in report.prediction["parameters"].items()],
        "parameters_note": note(report, fitted),
        "warnings": report.warnings,
        "whatif": report.whatif,
        "measured": measured(report.validation),
        "version": __version__,
        "command": shlex.join(["omni", *sys.argv[1:]]),
    }
    scripts = [WEB / name for name in SCRIPTS]
    web_page.write(path, "omni model report", WEB / "page.html", {"columns": packed}, data=data, scripts=scripts)


def columns(timeline: Timeline) -> dict[str, np.ndarray[Any, Any]]:
    """What lanes.js knows by these names. Intervals begin where the one before ends."""
    intervals, messages = timeline.intervals, timeline.messages
    return {
        "end": intervals["end"],
        "bytes": intervals["bytes"].astype("<f8"),
        "m_sent": messages["begin"],
        "m_end": messages["end"],
        "starts": timeline.starts,
        "site": intervals["site"],
        "peer": intervals["peer"],
        "m_source": messages["peer"].astype("<u4"),
        "m_target": messages["lane"],
        "activity": intervals["activity"],
        "call": intervals["call"],
    }


def pack(arrays: dict[str, np.ndarray[Any, Any]]) -> tuple[list[dict[str, Any]], str]:
    """One compressed block in base64, and where each array lies in it; wide elements first, so that all are aligned."""
    directory, offset = [], 0
    packer = zlib.compressobj(COMPRESSION)
    block = []
    for name, array in arrays.items():
        values = np.ascontiguousarray(array)
        directory.append({"name": name, "type": values.dtype.str[1:], "offset": offset, "length": len(values)})
        block.append(packer.compress(values.tobytes()))
        offset += values.nbytes + -values.nbytes % 8
        block.append(packer.compress(bytes(-values.nbytes % 8)))
    block.append(packer.flush())
    return directory, base64.b64encode(b"".join(block)).decode()


def unit(name: str) -> str:
    """Of a parameter in a prediction."""
    if name in LENGTHS:
        return "bytes"
    if name in TIMES:
        return "s"
    return "" if name == "compute" or name.endswith("_scale") else "s/byte"


def measured(validation: dict[str, Any] | None) -> dict[str, Any] | None:
    """What runs of the program took, and how far the prediction is from that."""
    if validation is None:
        return None
    runs, say = validation["measured"], predict.seconds
    return {
        "time": say(runs["median"]),
        "error": f"{validation['error_percent']:+.1f} %",
        "text": f"Measured, {validation['part']}: {say(runs['median'])}, the median of {len(runs['runs'])} runs with "
        f"quartiles {say(runs['low'])} and {say(runs['high'])}; predicted for that part: "
        f"{say(validation['predicted_seconds'])}.",
    }


def parameter(name: str, value: float, fitted: dict[str, Any]) -> dict[str, Any]:
    """A row of the table: as a fit measured it, with its interval, else as it was used."""
    entry = fitted.get(name)
    shown = {"s": f"{value * 1e6:.4g} µs", "s/byte": f"{value * 1e9:.4g} ns/byte", "bytes": f"{value:,.0f} bytes"}
    row = {"name": name, "meaning": MEANINGS.get(name, ""), "number": value, "interval": ""}
    row["value"] = "no limit" if name in LENGTHS and value >= NO_LIMIT else shown.get(unit(name), f"{value:g}")
    if isinstance(entry, dict) and "low" in entry and "high" in entry:
        row["interval"] = f"{entry['low']:.4g} to {entry['high']:.4g} {entry.get('unit', '')}"
        if not entry.get("identified", True):
            row["interval"] = "cannot be identified"
    return row


def note(report: Report, fitted: dict[str, Any]) -> str:
    """Where the parameters come from."""
    machine = report.prediction["machine"]
    if any(isinstance(entry, dict) and "low" in entry for entry in fitted.values()):
        return f"Measured on {machine} by omni model fit, with bootstrap intervals."
    return f"Of {machine}, as the prediction used them; their source gives no intervals."

# SPDX-License-Identifier: BSD-3-Clause
"""What the page of a report and a picture of a timeline show."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from omnipgas_tools.model import page, predict, sites, timelines, whatif


def helps(trace: str, params: str, model: str) -> list[dict[str, Any]]:
    """What omni model whatif answers without a question, the best first. Raises ModelError."""
    changes = whatif.likely(whatif.ask(trace, params, model, [], []))
    answer = whatif.compare(whatif.ask(trace, params, model, [], changes), changes)
    rows = [row for row in answer["changes"] if "saves_seconds" in row]
    matter = [row for row in rows if whatif.matters(row, answer["base"]["time_seconds"])]
    return sorted(matter, key=lambda row: -row["saves_seconds"])


def run(trace: str, params: str, model: str, records: int) -> page.Report:
    """The prediction with its timeline. Raises ModelError."""
    with tempfile.TemporaryDirectory(prefix="omni-") as folder:
        file = Path(folder, "timeline")
        options = [f"--timeline={file}", f"--timeline-records={records}"]
        prediction = predict.run(trace, params, model, options)
        drawn = timelines.read(file, len(timelines.lanes(prediction)))
    sites.resolve(prediction)
    warnings = predict.warnings(prediction)
    if left := prediction["timeline"]["left_out"]:
        warnings.append(
            f"the timeline is not whole: {left} intervals and messages at the ends of ranks were left out to keep the "
            "page small (--records); all other figures are of the whole program"
        )
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    return page.Report(prediction, drawn, parameter_file(params), warnings)


def parameter_file(params: str) -> dict[str, Any] | None:
    """What ompl-model has read, if it was a file."""
    path = Path(params)
    return json.loads(path.read_text()) if path.is_file() else None

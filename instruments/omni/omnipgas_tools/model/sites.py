# SPDX-License-Identifier: BSD-3-Clause
"""Call sites for people: the program's own file and line, where binutils are there and the program has them."""

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

LIMIT = 30  # seconds for each program or library
NONE = "?"


def resolve(prediction: dict[str, Any]) -> None:
    """Rewrites `where` in a prediction. Call sites that nothing is known of stay as they are."""
    modules: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in prediction["per_site"]:
        if "module" in row:
            modules[row["module"]].append(row)
    names = {}
    for module, rows in modules.items():
        for row, (function, line) in zip(rows, source_lines(module, [row["offset"] for row in rows]), strict=True):
            if function != NONE or line:
                call = re.match(r"\w+ in ", row["where"])
                place = ", ".join(filter(None, [function.replace(NONE, ""), line]))
                names[row["where"]] = (call[0] if call else "") + place
    for row in prediction["per_site"] + prediction["unmatched"]:
        row["where"] = names.get(row["where"], row["where"])


def source_lines(module: str, offsets: list[int]) -> list[tuple[str, str]]:
    """Function and file:line that each address returns to; what is not known is "?" and ""."""
    program, unknown = shutil.which("addr2line"), [(NONE, "")] * len(offsets)
    if program is None or not Path(module).is_file():
        return unknown
    before = [hex(offset - 1) for offset in offsets]  # in the call, not behind it
    try:
        done = subprocess.run(
            [program, "-fCe", module, *before], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return unknown
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 2 * len(offsets):
        return unknown
    return [(name.replace("??", NONE), short(place)) for name, place in zip(lines[::2], lines[1::2], strict=True)]


def short(place: str) -> str:
    """Name of the file and line; "" if they are not known."""
    name, _, line = place.partition(" (")[0].rpartition(":")
    return f"{Path(name).name}:{line}" if line.isdigit() and line != "0" else ""

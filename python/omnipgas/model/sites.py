# SPDX-License-Identifier: BSD-3-Clause
"""Call sites for people: the program's own file and line, where binutils are there and the program has them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

LIMIT = 30  # seconds for each program or library
# As model/recording.cpp writes them: the call, the function and the place in it, the file and the place in that.
SITE = re.compile(r"(?P<call>\w+) in (?P<symbol>.+)\+0x[0-9a-f]+ \((?P<module>/.+)\+(?P<offset>0x[0-9a-f]+)\)")
NONE = "?"


def resolve(rows: list[dict[str, Any]]) -> None:
    """Rewrites `where` of each row, a call site of a prediction. Those that nothing is known of stay."""
    found = {index: match for index, row in enumerate(rows) if (match := SITE.fullmatch(row["where"]))}
    modules: defaultdict[str, list[int]] = defaultdict(list)
    for index, match in found.items():
        modules[match["module"]].append(index)
    for module, indices in modules.items():
        lines = source_lines(module, [int(found[index]["offset"], 16) for index in indices])
        for index, (function, line) in zip(indices, lines, strict=True):
            match = found[index]
            name = function if function != NONE else match["symbol"]
            inside = "" if name == NONE else f" in {name}"
            rows[index]["where"] = f"{match['call']}{inside}, {line or Path(module).name + '+' + match['offset']}"


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

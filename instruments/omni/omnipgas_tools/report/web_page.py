# SPDX-License-Identifier: BSD-3-Clause
"""Pages of results: one HTML file that holds all it needs and asks for nothing."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnipgas_tools import files

WEB = Path(__file__).parent / "web"


def write(
    path: Path, title: str, body: Path, parts: Mapping[str, str], *,
    data: Any, scripts: Sequence[Path], styles: Sequence[Path] = (),
) -> None:  # fmt: skip
    """Writes the page whose body is in a file, with `parts` in the places there that have their names. Scripts find
    `data` as JSON in the element of that id; styles come behind those of every page."""
    shell = {
        "title": title,
        "style": "".join(one.read_text() for one in (WEB / "page.css", *styles)),
        "body": _filled(body.read_text(), parts),
        "data": json.dumps(data).replace("<", "\\u003c"),  # no end of the element in it
        "script": "\n".join(one.read_text() for one in (WEB / "element.js", *scripts)),
    }
    files.write(path, _filled((WEB / "shell.html").read_text(), shell))


def _filled(template: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"@@(\w+)@@", lambda match: parts[match[1]], template)

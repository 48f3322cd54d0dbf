# SPDX-License-Identifier: BSD-3-Clause
"""JSON files that a command is given: read up to a limit, and checked against a schema before anything is made of
them."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

from omnipgas_tools import files

# A terminal would obey control characters. In JSON text they are escaped, by a backslash that is no escaped one itself,
# but for a few.
ESCAPED = re.compile(r"((?<!\\)(?:\\\\)*)\\u00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])", re.IGNORECASE)
BARE = dict.fromkeys(range(0x7F, 0xA0), "?")


class DocumentError(Exception):
    """The file and what is wrong with it, in a line."""


def read(path: Path, schema: Path) -> dict[str, Any]:
    """The content of a file that fulfils a JSON schema, as parse() has it. Raises DocumentError."""
    try:
        text = files.read(path)
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise DocumentError(f"{path} is damaged: {error}") from error
    return parse(text, str(path), schema)


def parse(text: str, source: str, schema: Path) -> dict[str, Any]:
    """The content of a text that fulfils a JSON schema, with ? for control characters; `source` is whose it is. Raises
    DocumentError."""
    try:
        text = ESCAPED.sub(r"\1?", text).translate(BARE)
        content: dict[str, Any] = json.loads(text, parse_int=_whole, parse_constant=_refuse)
        if "\\ud" in text.lower():  # half a character can be neither printed nor written
            json.dumps(content, ensure_ascii=False).encode()
        _validator(schema)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        raise DocumentError(f"{source}: {error.message.removeprefix('data').lstrip('. ')}") from error
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{source} is damaged: {error}") from error
    return content


def _whole(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError(f"{digits[:19]}... is too large")
    return int(digits)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


@cache
def _validator(schema: Path) -> Any:
    return fastjsonschema.compile(json.loads(schema.read_text()))

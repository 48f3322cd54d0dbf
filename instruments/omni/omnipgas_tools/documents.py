# SPDX-License-Identifier: BSD-3-Clause
"""JSON files that a command is given: read up to a limit, and checked against a schema before anything is made of
them."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
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


def load(path: Path) -> Any:
    """The JSON content of a file that has no schema. Raises DocumentError."""
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path} is no JSON file: {error}") from error


def read(path: Path, schema: Path) -> dict[str, Any]:
    """The content of a file that fulfils a JSON schema, as parse() has it. Raises DocumentError."""
    return parse(_text(path), str(path), schema)


def _text(path: Path) -> str:
    try:
        return files.read(path)
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise DocumentError(f"{path} is damaged: {error}") from error


def parse(text: str, source: str, schema: Path) -> dict[str, Any]:
    """The content of a text that fulfils a JSON schema, with ? for control characters; `source` is whose it is. Raises
    DocumentError."""
    try:
        text = ESCAPED.sub(r"\1?", text).translate(BARE)
        numbers = _Numbers()
        content: dict[str, Any] = json.loads(
            text, parse_int=numbers.whole, parse_float=numbers.real, parse_constant=numbers.constant
        )
        if numbers.refused or "\\ud" in text.lower():
            for wrong in _unusable(content, ""):
                raise DocumentError(f"{source}: {wrong}")
        _validator(schema)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        raise DocumentError(f"{source}: {error.message.removeprefix('data').lstrip('. ')}") from error
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{source} is damaged: {error}") from error
    return content


@dataclass(frozen=True)
class _Refused:
    """A value that JSON text has and no field may have."""

    why: str


class _Numbers:
    """Those of a document, as they are read."""

    def __init__(self) -> None:
        self.refused = 0

    def whole(self, digits: str) -> int | _Refused:
        return int(digits) if len(digits) <= 19 else self._refuse(f"is {digits[:19]}..., which is too large")

    def real(self, digits: str) -> float | _Refused:
        number = float(digits)
        return number if math.isfinite(number) else self._refuse(f"is {digits[:19]}, which is too large")

    def constant(self, name: str) -> _Refused:
        return self._refuse(f"is {name}, which is no number")

    def _refuse(self, why: str) -> _Refused:
        self.refused += 1
        return _Refused(why)


def _unusable(value: Any, place: str) -> Iterator[str]:
    """The fields below `place` that cannot be used, each with its reason: such values, and half characters, which can
    be neither printed nor written."""
    if isinstance(value, _Refused):
        yield f"{place or 'the document'} {value.why}"
    elif isinstance(value, str) and not _is_whole_text(value):
        yield f"{place or 'the document'} is damaged: it holds half a character"
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unusable(item, f"{place}[{number}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            if not _is_whole_text(name):
                yield f"{place or 'the document'} is damaged: the name of a field in it holds half a character"
            yield from _unusable(item, f"{place}.{name}" if place else name)


def _is_whole_text(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


@cache
def _validator(schema: Path) -> Any:
    return fastjsonschema.compile(json.loads(schema.read_text()))

# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all, compressed if their name ends with .gz. Standard library only: the build
uses it."""

import gzip
import os
import zlib
from pathlib import Path

COMPRESSED = ".gz"


def read(path: Path) -> str:
    """The text of a file. Raises OSError; ValueError if it is damaged."""
    content = path.read_bytes()
    try:
        return (gzip.decompress(content) if path.suffix == COMPRESSED else content).decode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error


def write(path: Path, text: str) -> None:
    """Writes beside the file, then puts that in its place; what is no plain file, a pipe say, is written as it is.
    Raises OSError, and the file is as it was."""
    path = path.resolve()
    content = gzip.compress(text.encode(), mtime=0) if path.suffix == COMPRESSED else text.encode()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all, compressed if their name ends with .gz. Standard library only: the build
uses it."""

import gzip
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

COMPRESSED = ".gz"
MOST = 1 << 29  # bytes of a file's text, uncompressed


def read(path: Path) -> str:
    """The text of a file. Raises OSError; ValueError if it is damaged, or its text longer than MOST."""
    try:
        with gzip.open(path) if path.suffix == COMPRESSED else path.open("rb") as file:
            content = file.read(MOST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error
    if len(content) > MOST:
        raise ValueError(f"it holds more than {MOST >> 20} MiB of text")
    return content.decode()


def write(path: Path, text: str) -> None:
    """Writes a file, as replacing() does."""
    with replacing(path) as file:
        file.write(gzip.compress(text.encode(), mtime=0) if path.suffix == COMPRESSED else text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside that one, put in its place when it is whole. What is no plain file, a pipe say, is written as it
    is. Raises OSError, and the file is as it was."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    # Nobody can know the name before, and no file had it.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    partial = Path(name)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
            os.fchmod(handle, _mode(path))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """The permissions of the file, or those that a new one gets."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

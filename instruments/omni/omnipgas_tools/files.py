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
MOST_LINKS = 40
MAGIC = b"\x1f\x8b"  # with which what is compressed begins, whatever its name
MOST = 1 << 29  # bytes of a file's text, uncompressed


def read(path: Path) -> str:
    """The text of a file, without a byte order mark. Raises OSError; ValueError if it is damaged, no UTF-8, or its text
    longer than MOST."""
    try:
        with path.open("rb") as plain:
            compressed = plain.read(len(MAGIC)) == MAGIC
        with gzip.open(path) if compressed else path.open("rb") as file:
            content = file.read(MOST + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error
    if len(content) > MOST:
        raise ValueError(f"it holds more than {MOST >> 20} MiB of text")
    return content.decode("utf-8-sig")


def write(path: Path, text: str) -> None:
    """Writes a file, as replacing() does."""
    with replacing(path) as file:
        file.write(gzip.compress(text.encode(), mtime=0) if path.suffix == COMPRESSED else text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside that one, put in its place when it is whole. What is no plain file, a pipe say, or names a
    descriptor of this process (/dev/stdout), is written as it is. Raises OSError that names the file, which is as it
    was."""
    given = path
    path = path.resolve()
    try:
        if (descriptor := _descriptor(given)) is not None:
            with open(os.dup(descriptor), "wb") as file:
                yield file
        elif path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
        else:
            # Nobody can know the name before, and no file had it.
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with _replacing(path, Path(name), handle) as file:
                yield file
    except OSError as error:
        if error.filename is None or Path(error.filename).name.startswith(f".{path.name}."):
            error.filename, error.filename2 = str(given), None
        raise


@contextmanager
def _replacing(path: Path, partial: Path, handle: int) -> Iterator[IO[bytes]]:
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
            os.fchmod(handle, _mode(path))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _descriptor(path: Path) -> int | None:
    """Of this process, if the path, or a link that it is, names one."""
    own = Path("/proc/self/fd").resolve()
    for _ in range(MOST_LINKS):
        if path.parent.resolve() == own and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _mode(path: Path) -> int:
    """The permissions of the file, or those that a new one gets."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all. Standard library only: the build uses it."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Writes beside the file, then puts that in its place; what is no plain file, a pipe say, is written as it is.
    Raises OSError, and the file is as it was."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(text)
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

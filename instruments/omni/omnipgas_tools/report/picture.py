# SPDX-License-Identifier: BSD-3-Clause
"""Pictures on disk."""

from pathlib import Path
from typing import Any

from omnipgas_tools import files


def save(figure: Any, path: Path | str, dpi: int = 130) -> None:
    """Writes a figure of matplotlib as PNG or SVG, by the suffix, whole or not at all. Raises OSError, ValueError."""
    place = Path(path)
    with files.replacing(place) as file:
        kind = place.suffix.lstrip(".").lower() or "png"
        figure.savefig(file, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)

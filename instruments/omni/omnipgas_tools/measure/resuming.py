# SPDX-License-Identifier: BSD-3-Clause
"""Going on with a measurement that was interrupted: what its result file has is kept, the rest is measured.

Libraries are comparable only within a round, and all rounds of a thread count and size are measured together. So these
are kept as a whole or not at all, and only if all starts of the jobs that they need were made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from omnipgas_tools.documents import DocumentError
from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.runner import Contender


@dataclass
class Kept:
    """What an earlier run found."""

    rows: list[Result] = field(default_factory=list)
    libraries: dict[str, Any] = field(default_factory=dict)  # how each was started

    def apply(self, contenders: Sequence[Contender]) -> set[tuple[int, int]]:
        """Forgets thread counts and sizes at which one of the contenders is missing; the others, which need not be
        measured."""
        have: dict[tuple[int, int], set[tuple[str, str]]] = {}
        for row in self.rows:
            have.setdefault((row["threads"], row["size"]), set()).add((row["library"], row["op"]))
        wanted = {contender.key for contender in contenders}
        done = {place for place, keys in have.items() if wanted <= keys}
        self.rows = [r for r in self.rows if (r["threads"], r["size"]) in done and (r["library"], r["op"]) in wanted]
        return done


def kept(path: str | None, bench: str, limits: dict[str, Any]) -> Kept:
    """Reads the result file that is to be completed; a file that is not there is an empty one. Ends the command if the
    file is of another measurement."""
    if path in (None, "-"):
        raise typer.BadParameter("needs --json FILE, the file to go on with", param_hint="--resume")
    file = Path(str(path))
    if not file.exists():
        return Kept()
    try:
        content = results.read(file)
    except DocumentError as error:
        raise typer.BadParameter(f"no result file: {error}", param_hint="--resume") from error
    rows = [row for row in content["results"] if row["threads"] is not None]
    command = content["command"]
    if any(row["bench"] != bench for row in rows):
        raise typer.BadParameter(f"{file} is of another command than {bench}", param_hint="--resume")
    if command["limits"] != limits:
        raise typer.BadParameter(
            f"{file} was measured with other limits (--quick, --repeat, --starts, --timeout): "
            "give the same, or another --json",
            param_hint="--resume",
        )
    good = [row for row in rows if row["status"] == "ok"]
    short = {(row["threads"], row["size"]) for row in good if row["interval"]["starts"] < limits["starts"]}
    return Kept([row for row in rows if (row["threads"], row["size"]) not in short], command["libraries"])

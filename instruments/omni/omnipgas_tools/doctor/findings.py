# SPDX-License-Identifier: BSD-3-Clause
"""What checks find, as rows, as a document and as a table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from omnipgas_tools.report.terminal import table_of

SCHEMA_FILE = Path(__file__).with_name("findings.schema.json")
STATUS = {"fine": 0, "note": 0, "slow": 1, "fails": 2}  # exit status, the worst verdict last
STYLES = {"fine": "green", "note": "cyan", "slow": "yellow", "fails": "bold red"}


@dataclass(frozen=True)
class Finding:
    """What one check found, what that means, and what to change; the last two are empty if it is fine."""

    area: str
    name: str
    verdict: str
    found: str
    means: str = ""
    change: str = ""


def worst(found: Sequence[Finding]) -> str:
    """The verdict of all."""
    order = list(STATUS)
    return max((one.verdict for one in found), key=order.index, default=order[0])


def document(of_the_layer: dict[str, Any], found: Sequence[Finding]) -> dict[str, Any]:
    """The layer's own document with all findings in it."""
    verdict = worst(found)
    return of_the_layer | {"verdict": verdict, "status": STATUS[verdict], "findings": [asdict(one) for one in found]}


def table(found: Sequence[Finding]) -> Table:
    """All of them, and what to change about those that are not fine."""
    out = table_of("verdict", "+check", "+found")
    for one in found:
        text = Text(one.found)
        for head, said in (("means", one.means), ("change", one.change)):
            if said:
                text.append(f"\n{head}: ", "bold")
                text.append(said)
        out.add_row(Text(one.verdict, STYLES[one.verdict]), f"{one.area}: {one.name}", text)
    return out


def summary(found: Sequence[Finding]) -> str:
    """How many there are of each verdict."""
    count = Counter(one.verdict for one in found)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in reversed(STATUS))

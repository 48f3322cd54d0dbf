# SPDX-License-Identifier: BSD-3-Clause
"""A value with its interval."""

from dataclasses import dataclass
from typing import Any

INTERVAL = (2.5, 97.5)  # percentiles


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    unit: str
    identified: bool = True
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """What the replayer reads, and more."""
        out = {"value": self.value, "unit": self.unit, "low": self.low, "high": self.high}
        out |= {"identified": self.identified}
        return out | ({"note": self.note} if self.note else {})

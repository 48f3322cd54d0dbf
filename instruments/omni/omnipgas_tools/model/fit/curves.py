# SPDX-License-Identifier: BSD-3-Clause
"""What is fitted: medians over rounds at each length; the lengths at which curves change; and what comes of it: values
with their intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnipgas_tools.model.fit.equations import NEVER
from omnipgas_tools.model.fit.measurements import Measurements

Array = NDArray[np.float64]
INTERVAL = (2.5, 97.5)  # percentiles


@dataclass(frozen=True)
class Lengths:
    """Where the protocols change; None: nowhere."""

    s: int | None
    S: int | None

    @property
    def pair(self) -> tuple[int, int]:
        """For the equations."""
        top = NEVER if self.S is None else self.S
        return (top if self.s is None else min(self.s, top)), top


@dataclass(frozen=True)
class Curves:
    """Medians over rounds, in nanoseconds, at each length k."""

    k: Array
    base: Array
    hidden: Array
    send: Array
    receive: Array


def medians(m: Measurements, rounds: NDArray[np.int64] | None = None) -> Curves:
    picked = [m.matrix(name) for name in ("base", "hidden", "send", "receive")]
    if rounds is not None:
        picked = [values[rounds] for values in picked]
    return Curves(np.asarray(m.lengths, dtype=float), *(np.median(values, axis=0) for values in picked))


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

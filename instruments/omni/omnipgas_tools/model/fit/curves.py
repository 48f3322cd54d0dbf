# SPDX-License-Identifier: BSD-3-Clause
"""What is fitted: medians over rounds at each length; and the lengths at which curves change."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omnipgas_tools.model.fit.equations import NEVER
from omnipgas_tools.model.fit.measurements import Measurements

Array = NDArray[np.float64]


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

# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that a machine with known parameters would give, with noise."""

import numpy as np
from omnipgas_tools.model.fit.equations import LOGGPS
from omnipgas_tools.model.fit.measurements import Measurements

from .common import machine

ROUNDS = 15


def parameters(name: str) -> tuple[np.ndarray, int, int]:
    """Of a machine of the paper, in the order of LOGGPS.names; s; S."""
    row = machine(name)
    return np.array([row[one] for one in LOGGPS.names]), int(row["s"]), int(row["S"])


def grid(s: int, S: int, largest: int = 1 << 20) -> list[int]:
    """Three lengths to the octave, and both sides of s and S."""
    lengths = {round(2 ** (i / 3)) for i in range(int(3 * np.log2(largest)) + 1)}
    return sorted(lengths | {s, s + 1, S, S + 1})


def measurements(name: str, noise: float = 0.01, seed: int = 3) -> Measurements:
    """Round trips and sends; nobody looked at which sends wait."""
    values, s, S = parameters(name)
    lengths, draw = grid(s, S), np.random.default_rng(seed)
    rows = [LOGGPS.rows(k, s, S) for k in lengths]
    base = np.array([row.base @ values for row in rows])
    hidden = np.array([row.hidden @ values for row in rows])
    send = np.array([row.send @ values for row in rows])

    def rounds(exact: np.ndarray) -> list[list[float]]:
        return [(exact * (1 + noise * draw.standard_normal(len(exact)))).tolist() for _ in range(ROUNDS)]

    receive = np.maximum(hidden - send, 1)
    computation = (3 * base).tolist()
    return Measurements("send", lengths, rounds(base), computation, rounds(hidden), rounds(send), rounds(receive))

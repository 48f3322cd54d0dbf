# SPDX-License-Identifier: BSD-3-Clause
"""The lengths s and S, from curves: piecewise lines by least squares of relative errors.

Figure 5 of the paper: without computation the curve bends at s and jumps at S; behind a long computation it is a line
up to S and jumps there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_POINTS = 3  # on each side of a breakpoint
EVIDENCE = 10.0  # difference of the Bayesian information criterion from which a bend is believed


@dataclass(frozen=True)
class Bend:
    """Where a curve bends, and how sure that is."""

    at: int | None  # None: nowhere
    error: float  # sum of squared relative errors
    evidence: float  # by how much a bend lowers the information criterion


def line_error(k: Array, y: Array) -> float:
    """Of one line."""
    return float(_errors(np.column_stack([np.ones_like(k), k])[None], y)[0])


def _errors(columns: Array, y: Array) -> Array:
    """Sums of squared relative errors of least squares, of several sets of columns at once."""
    q = np.linalg.qr(columns / y[:, None]).Q
    residuals = 1 - q @ q.sum(axis=1)[:, :, None]
    return np.asarray((residuals**2).sum(axis=(1, 2)))


def find_bend(k: Array, y: Array) -> Bend:
    """Of two lines that meet at one of the lengths (at least one)."""
    count = len(k)
    straight = line_error(k, y)
    places = k[LEAST_POINTS - 1 : count - LEAST_POINTS]
    if not len(places):
        return Bend(None, straight, 0)
    columns = np.broadcast_arrays(np.ones(count), k, np.maximum(0, k - places[:, None]))
    errors = _errors(np.stack(columns, axis=-1), y)
    best = int(errors.argmin())
    least = max(float(errors[best]), 1e-18)
    evidence = count * np.log(max(straight, 1e-18) / least) - 2 * np.log(count)
    if evidence < EVIDENCE:
        return Bend(None, straight, float(evidence))
    return Bend(int(places[best]), float(errors[best]), float(evidence))


def find_both(k: Array, base: Array, hidden: Array) -> tuple[int | None, int | None]:
    """s and S; None: there is none."""
    least = 2 * LEAST_POINTS
    straight = find_bend(k, base)
    best, found = straight.error + line_error(k, hidden), (straight.at, None)
    count, best_S = len(k), None
    limit = max(best, 1e-18)
    for i in range(least, count - LEAST_POINTS + 1):
        bend = find_bend(k[:i], base[:i])
        error = bend.error + line_error(k[:i], hidden[:i])
        error += line_error(k[i:], base[i:]) + line_error(k[i:], hidden[i:])
        if error < best:
            best, best_S, found_s = error, int(k[i - 1]), bend.at
    if best_S is None or 2 * count * np.log(limit / max(best, 1e-18)) - 5 * np.log(2 * count) < EVIDENCE:
        return found[0], None
    return found_s, best_S

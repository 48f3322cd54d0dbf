# SPDX-License-Identifier: BSD-3-Clause
"""Robust least squares with parameters from 0 on, and what of them the equations cannot tell."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HUBER = 1.345  # residuals beyond this many deviations weigh less: 95 % efficiency (Huber, 1981)
LEAST_DEVIATION = 1e-4  # of relative residuals: no clock is better
STEPS = 30
NOTHING = 1e-9  # singular values below this part of the largest are none


def nonnegative(a: Array, y: Array) -> Array:
    """x >= 0 with the least |a x - y| (Lawson and Hanson, 1974, chapter 23)."""
    count = a.shape[1]
    x, passive = np.zeros(count), np.zeros(count, dtype=bool)
    tolerance = 1e-10 * max(1.0, float(np.abs(a.T @ y).max(initial=0)))
    for _ in range(10 * count):
        gradient = np.where(passive, -np.inf, a.T @ (y - a @ x))
        if gradient.max() <= tolerance:
            break
        passive[int(gradient.argmax())] = True
        while True:
            z = np.zeros(count)
            z[passive] = np.linalg.lstsq(a[:, passive], y, rcond=None)[0]
            low = passive & (z <= 0)
            if not low.any():
                x = z
                break
            step = float((x[low] / (x[low] - z[low])).min())
            x += step * (z - x)
            passive &= x > 1e-15
            x[~passive] = 0
    return x


def _weights(residuals: Array) -> Array:
    deviation = max(LEAST_DEVIATION, 1.4826 * float(np.median(np.abs(residuals))))
    return np.minimum(1.0, HUBER * deviation / np.maximum(np.abs(residuals), 1e-300))


def solve(a: Array, y: Array, bounded: bool = True) -> Array:
    """The parameters x of a x = y (y > 0), each equation by its relative error, outliers by less."""
    relative = a / y[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1
    rows, ones = relative / scale, np.ones(len(y))
    weights = ones
    x = np.zeros(a.shape[1])
    for _ in range(STEPS):
        root = np.sqrt(weights)
        left = rows * root[:, None]
        old, x = x, nonnegative(left, root) if bounded else np.linalg.lstsq(left, root, rcond=None)[0]
        if np.allclose(x, old, rtol=1e-9, atol=1e-12):
            break
        weights = _weights(rows @ x - ones)
    return np.asarray(x / scale)


def hidden_directions(a: Array) -> Array:
    """Orthonormal directions, as rows, along which the parameters can change and no equation notices; columns of `a`
    are brought to one length first, and the directions stand for the parameters times these lengths."""
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0] = 1
    _, values, directions = np.linalg.svd(a / scale)
    rank = int((values > NOTHING * values.max(initial=0)).sum())
    return np.asarray(directions[rank:] / scale)


def unidentified(a: Array, names: list[str]) -> tuple[list[str], list[str]]:
    """The parameters that the equations cannot tell, and the sums of two of them that they can. Columns behind those of
    the names are of no interest."""
    directions = hidden_directions(a)
    sizes = np.abs(directions).max(initial=0)
    lost = [i for i in range(len(names)) if sizes and np.abs(directions[:, i]).max() > 1e-6 * sizes]
    sums = [
        f"{names[i]} + {names[j]}"
        for at, i in enumerate(lost)
        for j in lost[at + 1 :]
        if np.abs(directions[:, i] + directions[:, j]).max() <= 1e-6 * sizes
    ]
    return [names[i] for i in lost], sums

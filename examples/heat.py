#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""heat.c in Python: heat on a ring. Every rank puts its two edge cells into the neighbours' halos and raises their
flags; no barrier in the loop. Halos come in two sets, used in turn, since a neighbour may be one step ahead.

omplrun -n 4 python3 heat.py [steps]
"""

import math
import sys

import numpy as np
import omnipgas

CELLS, LEFT, RIGHT = 64, 0, 1


def heat(steps: int) -> float:
    """The greatest distance from the exact solution after `steps` steps."""
    rank, size = omnipgas.rank(), omnipgas.size()
    neighbour = ((rank - 1) % size, (rank + 1) % size)
    halos = omnipgas.alloc((2, 2))  # what the neighbours write: [set, side]
    flags = omnipgas.alloc(2, np.uint32)
    halo = [[halos[number, side] for side in (LEFT, RIGHT)] for number in (0, 1)]
    flag = [flags[LEFT], flags[RIGHT]]

    # One cosine wave around the ring; the scheme damps it by a known factor per step.
    r = 0.25  # diffusion number
    angle = 2 * math.pi / (size * CELLS)
    factor = 1 - 2 * r * (1 - math.cos(angle))
    wave = np.array([math.cos(angle * (rank * CELLS + i)) for i in range(CELLS + 2)])
    u = wave.copy()
    edge = (u[1:2].reshape(()), u[CELLS : CELLS + 1].reshape(()))  # views of the two cells

    for step in range(steps):
        number = step % 2
        for side in (LEFT, RIGHT):  # my left edge is the right halo of my left neighbour
            omnipgas.put(edge[side], neighbour[side], halo[number][1 - side])
            omnipgas.put_word(neighbour[side], flag[1 - side])
        for side in (LEFT, RIGHT):
            omnipgas.wait(flag[side])
        u[0], u[CELLS + 1] = halos.local[number]
        u[1:-1] += r * (u[:-2] - 2 * u[1:-1] + u[2:])

    worst = float(np.abs(u - factor**steps * wave)[1:-1].max())
    print(f"rank {rank}: {steps} steps, farthest from the exact solution by {worst:.1e}")
    return worst


if __name__ == "__main__":
    with omnipgas.init():
        worst = heat(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    sys.exit(worst >= 1e-9)

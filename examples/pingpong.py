#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pingpong.c in Python: rank 0 puts a message and raises rank 1's flag; rank 1 waits, puts it back and raises rank 0's.

omplrun -n 2 python3 pingpong.py [bytes [iterations]]
"""

import sys
import time

import numpy as np
import omnipgas


def pingpong(nbytes: int, iterations: int) -> int:
    """How many messages arrived damaged."""
    rank = omnipgas.rank()
    if omnipgas.size() != 2:
        sys.exit("pingpong needs two ranks: omplrun -n 2 python3 pingpong.py")
    partner = 1 - rank
    inbox = omnipgas.alloc(nbytes, np.uint8)
    flag = omnipgas.alloc(1, np.uint32)
    message = np.zeros(nbytes, np.uint8)
    sent, received = message.data, inbox.local.data  # memoryviews: their items are plain integers
    put, put_word, wait = omnipgas.put, omnipgas.put_word, omnipgas.wait
    wrong = 0

    begin = time.perf_counter()
    for i in range(iterations):
        sent[-1] = i % 256
        if rank == 0:
            put(message, partner, inbox)  # the data
            put_word(partner, flag)  # the flag
            wait(flag)
            wrong += received[-1] != i % 256
        else:
            wait(flag)
            wrong += received[-1] != i % 256
            put(message, partner, inbox)
            put_word(partner, flag)
    one_way = (time.perf_counter() - begin) * 1e6 / iterations / 2

    if rank == 0:
        print(f"{nbytes} bytes: {one_way:.3f} us one way, {nbytes / one_way:.1f} MB/s")
    if wrong > 0:
        print(f"rank {rank}: {wrong} messages arrived damaged", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    nbytes = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    if nbytes <= 0 or iterations <= 0:
        sys.exit("usage: pingpong.py [bytes [iterations]], both positive")
    with omnipgas.init():
        damaged = pingpong(nbytes, iterations)
    sys.exit(damaged > 0)

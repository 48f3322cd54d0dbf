#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Halo exchange in Python on two ranks: elements of any kind, several vectors, waiting for some, limits, errors."""

import sys
import unittest
from typing import Any

import numpy as np
import omnipgas
from numpy.typing import NDArray
from omnipgas import Halo, Neighbor, OmplTimeoutError
from ranks import OK_LIMIT, Ranks, partner, rank, run, session

LENGTH = 8
SENT = [7, 0, 3]
BOTH_WAYS = [Neighbor(partner, send=SENT, receive=slice(4, 1, -1))]


def vector_of(rank: int, step: int) -> NDArray[np.float32]:
    return np.arange(LENGTH, dtype=np.float32) + 10 * step + 100 * rank


class Exchanges(Ranks):
    def test_lists_and_slices(self) -> None:
        strategies: Any = ("double-buffer", "single", "acked")
        for strategy in strategies:
            halo = Halo(BOTH_WAYS, LENGTH, np.float32, strategy=strategy)
            for step in range(10):
                vector = vector_of(rank, step)
                halo.start(vector)
                halo.wait()
                self.assertTrue(halo.test())
                came = vector_of(partner, step)[SENT]
                self.assertEqual(halo.data(0).tolist(), came.tolist())
                halo.unpack(0, vector)
                self.assertEqual(vector[[4, 3, 2]].tolist(), came.tolist())
                self.assertEqual(vector[5], vector_of(rank, step)[5])
            self.assertIn(f"* {strategy} ", halo.describe())
            halo.free()

    def test_several_vectors(self) -> None:
        halo = Halo(BOTH_WAYS, LENGTH, np.float32, vectors=2)
        vectors = vector_of(rank, 1), vector_of(rank, 2)
        halo.start(*vectors, timeout=OK_LIMIT)
        self.assertEqual(halo.wait_some(OK_LIMIT), [0])
        self.assertEqual(halo.wait_some(), [])
        halo.unpack(0, *vectors)
        for number, vector in enumerate(vectors):
            self.assertEqual(vector[4], vector_of(partner, 1 + number)[7])
            self.assertEqual(halo.data(0, number)[0], vector[4])
        with self.assertRaises(ValueError):
            halo.data(0)[0] = 1
        halo.free()

    def test_time_limits(self) -> None:
        halo = Halo(BOTH_WAYS, LENGTH, np.float32, strategy="single")
        vector = vector_of(rank, 0)
        if rank == 0:
            with self.assertRaises(OmplTimeoutError):
                halo.start(vector, timeout=0.001)
        omnipgas.barrier()
        halo.start(vector, timeout=OK_LIMIT)
        halo.wait(timeout=OK_LIMIT)
        self.assertEqual(halo.data(0)[0], vector_of(partner, 0)[7])
        halo.free()

    def test_it_chooses_by_itself(self) -> None:
        halo = Halo(BOTH_WAYS, LENGTH, strategy="auto")
        for step in range(60):
            vector = vector_of(rank, step).astype(np.float64)
            halo.start(vector)
            halo.wait(OK_LIMIT)
            self.assertEqual(halo.data(0)[0], vector_of(partner, step)[7])
        self.assertEqual(halo.describe().count("* "), 1)
        self.assertEqual(halo.describe().count(" us\n"), 3)
        halo.free()

    def test_what_is_refused(self) -> None:
        halo = Halo(BOTH_WAYS, LENGTH)
        vector = np.zeros(LENGTH)
        wrong: Any = "telepathy"
        with self.assertRaisesRegex(ValueError, "no strategy; there are double-buffer"):
            Halo([], LENGTH, strategy=wrong)
        with self.assertRaises(IndexError):
            Halo([Neighbor(partner, send=[LENGTH])], LENGTH)
        with self.assertRaisesRegex(ValueError, "1 vectors, not 2"):
            halo.start(vector, vector)
        for unfit in (np.zeros(LENGTH - 1), np.zeros(LENGTH, np.float32), np.zeros(2 * LENGTH)[::2]):
            with self.assertRaisesRegex(ValueError, "contiguous and has 8 elements of float64"):
                halo.start(unfit)
        with self.assertRaises(IndexError):
            halo.data(0, 1)
        halo.start(vector)
        halo.wait()
        halo.free()
        self.fails(-6, "the halo is null", halo.wait)
        self.fails(-2, "rank 7", Halo, [Neighbor(7)], LENGTH)
        self.fails(-6, "expects 0 elements", Halo, [Neighbor(partner, send=[1])], LENGTH)


class TheEnd(unittest.TestCase):
    def test_finalize(self) -> None:
        with session:
            Halo([], LENGTH).free()


if __name__ == "__main__":
    sys.exit(run(Exchanges, TheEnd))

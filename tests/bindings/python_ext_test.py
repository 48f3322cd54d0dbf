#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the Python layer has of ompl_ext.h, on two ranks: signals of any value, conditions, atomics, handles."""

import functools
import gc
import sys
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import omnipgas
from omnipgas import Array, Handle, OmplTimeoutError
from ranks import OK_LIMIT, Ranks, partner, rank, run, session


def posted(call: Callable[[], Handle | None]) -> Handle:
    """Posts until the layer accepts."""
    while (handle := call()) is None:
        omnipgas.progress(0.01)
    return handle


class Conditions(Ranks):
    def test_signals_of_any_value(self) -> None:
        for kind, big in ((np.int32, 1 << 31), (np.uint32, 1 << 31), (np.int64, 1 << 63), (np.uint64, 1 << 63)):
            words = omnipgas.alloc(2, kind)
            omnipgas.signal(partner, words[0], 40)
            omnipgas.signal(partner, words[0])
            omnipgas.signal(partner, words[1], -3, set=True)
            omnipgas.wait_until(words[0], "==", 41, OK_LIMIT)
            omnipgas.wait_until(words[1], "<", 0, timeout=OK_LIMIT)
            omnipgas.wait_until(words[0], ">=", 41)
            with self.assertRaises(OmplTimeoutError):
                omnipgas.wait_until(words[0], ">", 41, 0.001)
            self.assertEqual(words.local.view(np.dtype(kind).str.replace("u", "i")).tolist(), [41, -3])
            omnipgas.barrier()
            omnipgas.signal(partner, words[0], big - 1, set=True)
            omnipgas.wait_until(words[0], "!=", 41, OK_LIMIT)
            self.assertEqual(int(words.local[0]), big - 1)
            omnipgas.barrier()

    def test_no_rank_has_failed(self) -> None:
        self.assertEqual(omnipgas.failed_ranks(), [])

    def test_several_flags(self) -> None:
        words = omnipgas.alloc(3, np.uint32)
        flags: list[Array] = [words[i] for i in range(3)]
        for wait in (omnipgas.wait_any, omnipgas.wait_some, omnipgas.wait_all):
            with self.assertRaises(OmplTimeoutError):
                wait(flags, 0.001)
        omnipgas.barrier()
        omnipgas.put_word(partner, flags[1])
        self.assertEqual(omnipgas.wait_any(flags, OK_LIMIT), 1)
        omnipgas.barrier()
        omnipgas.put_word(partner, flags[0])
        omnipgas.put_word(partner, flags[2])
        omnipgas.wait_all([(flags[0], ">=", 1), (flags[2], ">=", 1)], OK_LIMIT)
        self.assertEqual(omnipgas.wait_some(flags), [0, 2])
        omnipgas.barrier()
        for flag in flags:
            omnipgas.put_word(partner, flag)
        omnipgas.wait_all(flags)
        self.assertEqual(words.local.tolist(), [0, 0, 0])

    def test_sections_that_are_not_contiguous(self) -> None:
        inbox = omnipgas.alloc((4, 8))
        values = np.arange(32.0).reshape(4, 8) + rank
        posted(lambda: omnipgas.put_nb(values[:, ::2], partner, inbox[::-1, 1::2])).wait()
        omnipgas.barrier()
        self.assertTrue((inbox.local[::-1, 1::2] == np.arange(32.0).reshape(4, 8)[:, ::2] + partner).all())
        self.assertTrue((inbox.local[:, ::2] == 0).all())
        target = np.zeros((4, 8))
        posted(lambda: omnipgas.get_nb(target[:, 1::2], partner, inbox[::-1, 1::2])).wait()
        self.assertTrue((target[:, 1::2] == values[:, ::2]).all())
        omnipgas.barrier()

    def test_what_is_refused(self) -> None:
        words, bytes_ = omnipgas.alloc(2, np.uint32), omnipgas.alloc(1, np.uint8)
        wrong: Any = "=~"
        with self.assertRaisesRegex(ValueError, "no comparison"):
            omnipgas.wait_until(words[0], wrong, 1)
        with self.assertRaisesRegex(ValueError, "no atomic operation"):
            omnipgas.atomic(partner, words[0], wrong)
        with self.assertRaisesRegex(ValueError, "4 or 8 bytes"):
            omnipgas.signal(partner, bytes_)
        with self.assertRaisesRegex(ValueError, "one element"):
            omnipgas.atomic(partner, words, "fetch")
        with self.assertRaises(TypeError):
            omnipgas.wait_any(3)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            omnipgas.wait_any([(words[0], ">=")])  # type: ignore[list-item]
        self.fails(-6, "", omnipgas.wait_any, [])
        self.fails(-2, "rank 7", omnipgas.atomic, 7, words[0], "fetch")


class MemoryWaits(Ranks):
    def test_plain_puts_end_them(self) -> None:
        for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
            words = omnipgas.alloc(3, kind)
            minus = np.array([-3]).astype(kind)
            comparison: Any = "<" if np.issubdtype(kind, np.signedinteger) else ">"
            conditions: Any = [(words[0], comparison, 0), (words[1], "==", 5), (words[2], ">=", 1)]
            with self.assertRaises(OmplTimeoutError):
                omnipgas.wait_memory(words[0], comparison, 0, timeout=0.001)
            for wait in (omnipgas.wait_memory_any, omnipgas.wait_memory_some, omnipgas.wait_memory_all):
                with self.assertRaises(OmplTimeoutError):
                    wait(conditions, 0.001)
            omnipgas.barrier()
            omnipgas.put(minus, partner, words[0])
            omnipgas.wait_memory(words[0], comparison, 0, OK_LIMIT)
            self.assertEqual(omnipgas.wait_memory_any(conditions, OK_LIMIT), 0)
            self.assertEqual(omnipgas.wait_memory_some(conditions), [0])
            omnipgas.barrier()
            omnipgas.put(np.array([5, 1], kind), partner, words[1:])
            omnipgas.flush()
            omnipgas.wait_memory_all(conditions, OK_LIMIT)
            self.assertEqual(omnipgas.wait_memory_some(conditions), [0, 1, 2])
            omnipgas.barrier()

    def test_what_is_refused(self) -> None:
        number, word = omnipgas.alloc(1, np.float64), omnipgas.alloc(1, np.uint32)
        flag: Any = word
        with self.assertRaisesRegex(ValueError, "is an integer"):
            omnipgas.wait_memory(number, ">", 0, 0)
        with self.assertRaisesRegex(TypeError, "condition on memory"):
            omnipgas.wait_memory_any([flag])
        self.fails(-6, "", omnipgas.wait_memory_any, [])


class Atomics(Ranks):
    def test_every_operation(self) -> None:
        for kind in (np.int32, np.uint32, np.int64, np.uint64):
            words = omnipgas.alloc(3, kind)
            for _ in range(200):
                omnipgas.atomic(0, words[0], "add", 1)
            omnipgas.barrier()
            self.assertEqual(omnipgas.atomic(0, words[0], "fetch"), 400)
            word = words[1]
            self.assertEqual(omnipgas.atomic(partner, word, "swap", -5), 0)
            minus = omnipgas.atomic(partner, word, "cswap", 6, compare=4)
            self.assertEqual(minus, np.array(-5).astype(kind))
            self.assertEqual(omnipgas.atomic(partner, word, "cswap", 12, -5), minus)
            self.assertEqual(omnipgas.atomic(partner, word, "and", 10), 12)
            self.assertEqual(omnipgas.atomic(partner, word, "or", 3), 8)
            self.assertEqual(omnipgas.atomic(partner, word, "xor", 1), 11)
            omnipgas.update(partner, words[2], "set", 7)
            omnipgas.quiet()
            self.assertEqual(omnipgas.atomic(partner, words[2], "fetch"), 7)
            omnipgas.barrier()
            self.assertEqual(words.local[1:].tolist(), [10, 7])
            omnipgas.barrier()
            self.assertEqual(omnipgas.atomic(partner, word, "min", -1), 10)
            lower = -1 if np.issubdtype(kind, np.signedinteger) else 10
            self.assertEqual(omnipgas.atomic(partner, word, "max", 11), lower)
            self.assertEqual(omnipgas.atomic(partner, word, "fetch"), 11)

    def test_floating_point(self) -> None:
        for kind in (np.float32, np.float64):
            words = omnipgas.alloc(2, kind)
            for _ in range(100):
                omnipgas.update(0, words[0], "add", 0.5)
            omnipgas.quiet()
            omnipgas.barrier()
            self.assertEqual(omnipgas.atomic(0, words[0], "fetch"), 100.0)
            self.assertEqual(omnipgas.atomic(partner, words[1], "swap", -2.5), 0.0)
            self.assertEqual(omnipgas.atomic(partner, words[1], "min", -3), -2.5)
            self.assertEqual(omnipgas.atomic(partner, words[1], "max", 1.25), -3.0)
            self.assertEqual(omnipgas.atomic(partner, words[1], "cswap", 8.0, compare=1.25), 1.25)
            self.assertEqual(omnipgas.atomic(partner, words[1], "fetch"), 8.0)
            with self.assertRaisesRegex(ValueError, "floating point"):
                omnipgas.atomic(partner, words[1], "and", 1)
            with self.assertRaises(TypeError):
                omnipgas.atomic(partner, words[1], "add", "1")  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            omnipgas.atomic(partner, omnipgas.alloc(1, np.int32)[0], "add", 0.5)


class Order(Ranks):
    def test_a_fence_and_the_whole_process(self) -> None:
        words = omnipgas.alloc(2, np.uint64)
        omnipgas.put(np.array([5], np.uint64), partner, words[0])
        omnipgas.fence(OK_LIMIT)
        omnipgas.put(np.array([6], np.uint64), partner, words[1])
        omnipgas.process_quiet()
        self.assertEqual(omnipgas.atomic(partner, words[1], "fetch"), 6)
        self.assertEqual(omnipgas.atomic(partner, words[0], "fetch"), 5)
        omnipgas.barrier()


class Handles(Ranks):
    def test_put_and_get(self) -> None:
        inbox, flag = omnipgas.alloc(1000, np.int32), omnipgas.alloc(1, np.uint32)
        source = np.arange(1000, dtype=np.int32) + 5000 * rank
        handle = posted(lambda: omnipgas.put_nb(source, partner, inbox, flag))
        handle.wait(timeout=OK_LIMIT)
        self.assertTrue(handle.test())
        omnipgas.wait(flag, OK_LIMIT)
        self.assertTrue(np.array_equal(inbox.local, source - 5000 * rank + 5000 * partner))
        back = np.zeros(1000, np.int32)
        get = functools.partial(omnipgas.get_nb, rank=partner)
        halves = [posted(functools.partial(get, back[i:][:500], source=inbox[i:][:500])) for i in (0, 500)]
        first = omnipgas.handle_wait_any(halves, OK_LIMIT)
        self.assertIn(first, (None, 0, 1))  # None if both were complete when posted
        for half in halves:
            half.wait()
        self.assertIsNone(omnipgas.handle_wait_any(halves))
        self.assertTrue(np.array_equal(back, source))

    def test_elements_at_indices(self) -> None:
        inbox, flag = omnipgas.alloc((3, 100), np.int16), omnipgas.alloc(1, np.uint32)
        source = np.arange(200, dtype=np.int16) + 1000 * rank
        here, there = np.arange(0, 200, 4), np.arange(299, 49, -5)
        posted(lambda: omnipgas.put_indexed(source, here, partner, inbox, there, flag)).wait(OK_LIMIT)
        omnipgas.wait(flag, OK_LIMIT)
        expected = np.zeros(300, np.int16)
        expected[there] = here + 1000 * partner
        self.assertTrue(np.array_equal(inbox.local.ravel(), expected))
        back = np.zeros(50, np.int16)
        posted(lambda: omnipgas.get_indexed(back, None, partner, inbox.offset, there)).wait(OK_LIMIT)
        self.assertTrue(np.array_equal(back, source[here]))
        omnipgas.barrier()  # both have looked
        posted(lambda: omnipgas.put_indexed(back, None, partner, inbox[0, :50], None, flag)).wait(OK_LIMIT)
        omnipgas.wait(flag, OK_LIMIT)
        self.assertTrue(np.array_equal(inbox.local[0, :50], here + 1000 * partner))
        omnipgas.barrier()

    def test_wrong_indices(self) -> None:
        inbox, source, few = omnipgas.alloc(10), np.zeros(10), np.arange(3)
        for put in (omnipgas.put_indexed, omnipgas.get_indexed):
            for wrong in (np.array([10]), np.array([-1])):
                with self.assertRaisesRegex(IndexError, "10 elements"):
                    put(source, wrong, partner, inbox, few[:1])
                with self.assertRaisesRegex(IndexError, "10 elements"):
                    put(source, few[:1], partner, inbox, wrong)
            with self.assertRaisesRegex(ValueError, "number of elements"):
                put(source, few, partner, inbox, few[:2])
            with self.assertRaisesRegex(ValueError, "number of elements"):
                put(source, np.zeros(11, np.int64), partner, inbox, None)
            with self.assertRaisesRegex(TypeError, "64 bits"):
                put(source, few.astype(np.int32), partner, inbox, few)
            with self.assertRaisesRegex(ValueError, "contiguous"):
                put(source[::2], few, partner, inbox, few)
            with self.assertRaisesRegex(ValueError, "one size"):
                put(source.astype(np.int16), few, partner, inbox, few)

    def test_a_dropped_handle_keeps_its_buffer_until_the_end(self) -> None:
        inbox = omnipgas.alloc(200000)
        inbox.local[:] = rank + 1
        omnipgas.barrier()
        target = np.zeros(200000)
        handle: Handle | None = posted(lambda: omnipgas.get_nb(target, partner, inbox))
        del handle
        gc.collect()
        self.assertTrue((target == partner + 1).all())
        count = sys.getrefcount(target)
        posted(lambda: omnipgas.put_nb(target, partner, inbox)).wait()
        self.assertEqual(sys.getrefcount(target), count)

    def test_what_is_refused(self) -> None:
        inbox = omnipgas.alloc((4, 4))
        with self.assertRaises((ValueError, BufferError)):
            omnipgas.get_nb(b"01234567", partner, inbox[0, :1].offset)
        with self.assertRaises(TypeError):
            Handle()
        with self.assertRaises(TypeError):
            omnipgas.handle_wait_any([None])  # type: ignore[list-item]
        self.fails(-2, "rank 7", omnipgas.put_nb, np.zeros((4, 4)), 7, inbox)


class TheEnd(unittest.TestCase):
    def test_abort_is_there(self) -> None:
        with self.assertRaises(TypeError):
            omnipgas.abort("why")  # type: ignore[call-arg, arg-type]

    def test_finalize(self) -> None:
        with session:
            if rank == 1:
                omnipgas.stop()
            while omnipgas.stopped_ranks() != [1]:
                omnipgas.progress(0.01)
            while omnipgas.progress(0):
                pass
            self.assertIsInstance(omnipgas.progress(timeout=0.001), bool)


if __name__ == "__main__":
    sys.exit(run(Conditions, MemoryWaits, Atomics, Order, Handles, TheEnd))

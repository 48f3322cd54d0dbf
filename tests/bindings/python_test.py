#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python layer on two ranks, each of which runs every test at the same time."""

import os
import signal
import subprocess
import sys
import threading
import unittest
from typing import Any

import numpy as np
import omnipgas
from numpy.typing import NDArray
from omnipgas import OmplError, OmplTimeoutError
from ranks import OK_LIMIT, Ranks, partner, rank, run, session

ERR_STATE, ERR_RANK, ERR_OFFSET, ERR_ALIGN, ERR_LENGTH, ERR_ARG, ERR_TIMEOUT = -1, -2, -3, -4, -5, -6, -10


class Loading(Ranks):
    def test_every_public_name_says_what_it_is(self) -> None:
        for name in omnipgas.__all__:
            value = getattr(omnipgas, name)
            self.assertTrue(value.__doc__, name)
            for method in vars(value) if isinstance(value, type) and value.__module__.startswith("omnipgas") else ():
                if method[0] != "_" and (callable(getattr(value, method)) or isinstance(vars(value)[method], property)):
                    self.assertTrue(getattr(value, method).__doc__, f"{name}.{method}")

    def test_a_library_that_is_not_there(self) -> None:
        environment = os.environ | {"OMNIPGAS_LIBRARY": "/no/such/libomnipgas.so.0"}
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import omnipgas; omnipgas.rank()"],
            env=environment, capture_output=True, text=True, timeout=OK_LIMIT, check=False,
        )  # fmt: skip
        self.assertNotEqual(done.returncode, 0)
        last = done.stderr.splitlines()[-1]
        for said in ("ImportError: ", "/no/such/", "OMNIPGAS_LIBRARY", "LD_LIBRARY_PATH"):
            self.assertIn(said, last)


class Data(Ranks):
    def sent(self, source: NDArray[Any], dest: omnipgas.Array) -> None:
        """Puts to the partner, and waits until both have."""
        omnipgas.put(source, partner, dest)
        omnipgas.barrier()

    def test_put_signal_wait(self) -> None:
        inbox, flag = omnipgas.alloc(100), omnipgas.alloc(1, np.uint32)
        omnipgas.put(np.arange(100.0) + 1000 * rank, partner, inbox)
        omnipgas.put_word(partner, flag)
        omnipgas.wait(flag)
        self.assertTrue(np.array_equal(inbox.local, np.arange(100.0) + 1000 * partner))
        omnipgas.barrier()
        omnipgas.put_signal(np.full(100, 5.0), partner, inbox, flag)
        omnipgas.wait(flag, timeout=OK_LIMIT)
        self.assertEqual(inbox.local.sum(), 500)
        self.assertFalse(omnipgas.poll(flag))

    def test_every_kind_of_element(self) -> None:
        names = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "U3", "M8[s]", "f8,i4"]
        for kind in map(np.dtype, names):
            source = np.zeros(7, kind)
            source.view("u1")[:] = np.arange(source.nbytes, dtype="u1") % 2
            inbox = omnipgas.alloc(7, kind)
            self.sent(source, inbox)
            self.assertEqual(inbox.local.tobytes(), source.tobytes(), str(kind))
            inbox.free()

    def test_sections_there(self) -> None:
        inbox = omnipgas.alloc((4, 6), np.int32)
        self.sent(np.array([1, 2], np.int32), inbox[2, 3:5])
        self.sent(np.full((2, 6), 7, np.int32), inbox[:2])
        self.sent(np.array(9, np.int32), inbox[-1, -1])
        expected = np.zeros((4, 6), np.int32)
        expected[2, 3:5], expected[:2], expected[-1, -1] = [1, 2], 7, 9
        self.assertTrue(np.array_equal(inbox.local, expected))
        self.assertEqual((inbox[1:, 2].shape, len(inbox[1:]), inbox[...].dtype), ((3,), 3, np.int32))
        self.assertEqual(inbox[2:][1, 3].offset, inbox.offset + 4 * (3 * 6 + 3))

    def test_strides_here(self) -> None:
        inbox = omnipgas.alloc((3, 4))
        whole = np.arange(120.0).reshape(6, 4, 5) + 1000 * rank
        sources = (whole[::2, :, 1], whole[5::-2, ::-1, 4], np.asfortranarray(whole[:3, :, 0]), whole[:4, :3, 2].T)
        for source in sources:
            self.sent(source, inbox)
            self.assertTrue(np.array_equal(inbox.local, source - 1000 * rank + 1000 * partner))
            target = np.zeros((6, 8))
            omnipgas.get(target[::-2, 1::2], partner, inbox)
            self.assertTrue(np.array_equal(target[::-2, 1::2], source))
            self.assertEqual(target[::2].sum() + target[:, ::2].sum(), 0)
            omnipgas.barrier()

    def test_strides_there(self) -> None:
        inbox, flag = omnipgas.alloc((4, 6), np.int32), omnipgas.alloc(1, np.uint32)
        values = np.arange(6, dtype=np.int32).reshape(2, 3) + 100 * rank + 1
        omnipgas.put_signal(values, partner, inbox[1::2, 5::-2], flag)  # packed here, strided there
        omnipgas.wait(flag, OK_LIMIT)
        expected = np.zeros((4, 6), np.int32)
        expected[1::2, 5::-2] = values - 100 * rank + 100 * partner
        self.assertTrue(np.array_equal(inbox.local, expected))
        target = np.zeros((6, 2), np.int32)
        omnipgas.get(target[::2].T, partner, inbox[1::2, 5::-2])  # strided at both sides
        self.assertTrue(np.array_equal(target[::2].T, values))
        self.assertEqual(target[1::2].sum(), 0)
        with self.assertRaisesRegex(ValueError, "differ in shape"):
            omnipgas.put(np.zeros((3, 4), np.int32)[:, ::2], partner, inbox[1::2, 5::-2])

    def test_other_buffers(self) -> None:
        inbox = omnipgas.alloc(5, np.uint8)
        omnipgas.put(b"hello", partner, inbox)
        omnipgas.put(b"J", partner, inbox.offset)
        omnipgas.barrier()
        target = bytearray(5)
        omnipgas.get(target, partner, inbox)
        self.assertEqual((bytes(target), inbox.local.tobytes()), (b"Jello", b"Jello"))

    def test_long_transfers(self) -> None:
        inbox = omnipgas.alloc(1 << 20, np.uint8)
        self.sent(np.full(1 << 20, rank + 1, np.uint8), inbox)
        self.assertTrue((inbox.local == partner + 1).all())
        target = np.zeros(1 << 20, np.uint8)
        omnipgas.get(target, partner, inbox)
        self.assertTrue((target == rank + 1).all())

    def test_views_of_the_partner(self) -> None:
        array = omnipgas.alloc((4, 3), np.int64)
        view = array[::-1, 1].view(partner)
        self.assertEqual(view is None, omnipgas.node_size() == 1)
        if view is not None:
            view[:] = [1, 2, 3, 4]
        omnipgas.barrier()
        self.assertEqual(array.local[:, 1].tolist(), [0, 0, 0, 0] if view is None else [4, 3, 2, 1])
        own = array.view(rank)
        self.assertTrue(own is not None and np.shares_memory(own, array.local))


class Waits(Ranks):
    def test_timeouts(self) -> None:
        flag = omnipgas.alloc(1, np.uint32)
        for timeout in (0, 0.001, 0.12, -1.0):
            with self.assertRaises(OmplTimeoutError) as caught:
                omnipgas.wait(flag, timeout)
            self.assertEqual(caught.exception.code, ERR_TIMEOUT)
        self.assertTrue(issubclass(OmplTimeoutError, OmplError) and issubclass(OmplTimeoutError, TimeoutError))
        with self.assertRaises(ValueError):
            omnipgas.wait(flag, float("nan"))
        omnipgas.flush(timeout=OK_LIMIT)
        omnipgas.quiet(timeout=OK_LIMIT)
        omnipgas.barrier(timeout=OK_LIMIT)

    def test_another_thread_runs_while_one_waits(self) -> None:
        flag = omnipgas.alloc(1, np.uint32)
        steps: list[int] = []

        def work() -> None:
            steps.extend(range(10000))
            omnipgas.put_word(rank, flag)

        thread = threading.Thread(target=work)
        thread.start()
        omnipgas.wait(flag, OK_LIMIT)
        self.assertEqual(len(steps), 10000)
        thread.join()

    def test_interrupt_ends_a_wait(self) -> None:
        flag = omnipgas.alloc(1, np.uint32)
        killer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        with self.assertRaises(KeyboardInterrupt):
            omnipgas.wait(flag, OK_LIMIT)
        killer.join()
        omnipgas.barrier()
        omnipgas.put_word(partner, flag)
        omnipgas.wait(flag, OK_LIMIT)  # the interrupted wait has left nothing behind
        self.assertEqual(flag.local[0], 0)

    def test_other_signal_handlers_run(self) -> None:
        flag = omnipgas.alloc(1, np.uint32)
        before = signal.signal(signal.SIGALRM, lambda number, frame: omnipgas.put_word(rank, flag))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        omnipgas.wait(flag, OK_LIMIT)
        signal.signal(signal.SIGALRM, before)
        self.assertEqual(flag.local[0], 0)

    def test_contexts_in_threads(self) -> None:
        inbox, flag = omnipgas.alloc(2, np.int32), omnipgas.alloc(1, np.uint32)
        with omnipgas.Context() as context:
            first = threading.Thread(target=context.put, args=(np.array([3], np.int32), partner, inbox[:1]))
            first.start()
            first.join()
            context.put_signal(np.array([4], np.int32), partner, inbox[1:], flag)
            context.put_word(partner, flag)
            context.wait(flag, OK_LIMIT)
            context.wait(flag, timeout=OK_LIMIT)
            self.assertEqual(inbox.local.tolist(), [3, 4])
            target = np.zeros(2, np.int32)
            context.get(target, partner, inbox)
            context.flush()
            context.quiet()
            self.assertEqual(target.tolist(), [3, 4])
        with self.assertRaisesRegex(ValueError, "closed"):
            context.put(target, partner, inbox)
        context.close()


class Errors(Ranks):
    def test_of_the_layer(self) -> None:
        array = omnipgas.alloc(4, np.int32)
        values = np.zeros(4, np.int32)
        self.fails(ERR_RANK, "rank 7 does not exist", omnipgas.put, values, 7, array)
        self.fails(ERR_RANK, "does not exist", omnipgas.put_word, -1, array)
        self.fails(ERR_OFFSET, "not allocated", omnipgas.put, values, partner, 0)
        self.fails(ERR_LENGTH, "leave the allocation", omnipgas.put, values, partner, array.offset + 4)
        self.fails(ERR_ALIGN, "multiple of 4", omnipgas.wait, array.offset + 1)
        self.fails(ERR_ARG, "the size is 0", omnipgas.alloc, 0)
        self.fails(ERR_STATE, "", omnipgas.init)

    def test_of_python(self) -> None:
        array = omnipgas.alloc((4, 4), np.int32)
        with self.assertRaisesRegex(ValueError, "the two sides differ"):
            omnipgas.put(np.zeros(4, np.int32), partner, array)
        with self.assertRaisesRegex(ValueError, "items of 8 here"):
            omnipgas.put(np.zeros(8, np.int64), partner, array)
        with self.assertRaises((ValueError, BufferError)):
            omnipgas.get(b"0123", partner, array[0, :1].offset)
        wrong: Any = 3.5
        for call in (
            lambda: omnipgas.put(wrong, partner, array),
            lambda: omnipgas.put(np.zeros(1), wrong, array),
            lambda: omnipgas.put(np.zeros(1), partner, wrong),
            lambda: omnipgas.wait(array, timeout="soon"),  # type: ignore[arg-type]
            lambda: omnipgas.wait(array, limit=1),  # type: ignore[call-arg]
            lambda: omnipgas.wait(),  # type: ignore[call-arg]
            lambda: array[wrong],
            lambda: array[[1, 2]],  # type: ignore[index]
            lambda: omnipgas.alloc(4, object),
        ):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(IndexError):
            array[4]
        with self.assertRaisesRegex(ValueError, "section"):
            array[1:].free()
        with self.assertRaises(AttributeError):
            omnipgas.nothing  # noqa: B018

    def test_a_library_that_is_not_there(self) -> None:
        environment = {**os.environ, "OMNIPGAS_LIBRARY": "/nowhere/libomnipgas.so"}
        command = [sys.executable, "-c", "import omnipgas; omnipgas.init()"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: /nowhere/libomnipgas.so", done.stderr)

    def test_the_layer_is_loaded_at_the_first_use_of_a_name(self) -> None:
        test = "import sys, omnipgas; sys.exit('omnipgas.layer' in sys.modules or 'omnipgas._core' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", test], capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class TheEnd(unittest.TestCase):
    """Runs last: what is left after finalize()."""

    def test_after_finalize(self) -> None:
        context = omnipgas.Context()
        flag = omnipgas.alloc(1, np.uint32)
        with self.assertRaisesRegex(RuntimeError, "passes"), session:
            raise RuntimeError("passes")
        self.assertEqual(omnipgas.rank(), rank)  # an exception does not finalize
        with session:
            pass
        for call in (omnipgas.rank, omnipgas.barrier, lambda: omnipgas.wait(flag), lambda: omnipgas.alloc(1)):
            with self.assertRaises(OmplError) as caught:
                call()
            self.assertEqual(caught.exception.code, ERR_STATE)
        with self.assertRaisesRegex(ValueError, "closed"):
            context.put_word(0, flag)
        context.close()


if __name__ == "__main__":
    sys.exit(run(Data, Waits, Errors, TheEnd))

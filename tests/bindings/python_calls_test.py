#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Remote calls in Python on two ranks: arguments, payload, replies; functions that call, raise, run in any thread."""

import sys
import threading
import unittest
from typing import Any

import numpy as np
import omnipgas
from omnipgas import Call, RemoteFunction
from ranks import OK_LIMIT, Ranks, partner, rank, run, session


def sum_of(call: Call) -> int:
    return int(np.frombuffer(call.arguments, np.int64).sum()) - call.source


class Calls(Ranks):
    def test_arguments_and_replies(self) -> None:
        total = RemoteFunction("total", sum_of)
        numbers = np.array([1, 2, -10], np.int64)
        self.assertEqual(total.ask(partner, numbers), -7 - rank)
        self.assertEqual(total.ask(rank, numbers, timeout=OK_LIMIT), -7 - rank)
        self.assertEqual(total.ask(partner), -rank)
        nothing = RemoteFunction("nothing", lambda call: None)
        self.assertEqual(nothing.ask(partner, b"x" * 4000), 0)
        self.assertEqual(nothing.number, total.number + 1)

    def test_a_payload_is_there_before_the_function(self) -> None:
        inbox = omnipgas.alloc(1000, np.int32)

        def last(call: Call) -> int:
            self.assertEqual((call.payload, call.payload_length), (inbox.offset, 4000))
            return int(inbox.local[-1])

        function = RemoteFunction("last", last)
        for i in range(20):
            data = np.full(1000, 100 * rank + i, np.int32)
            self.assertEqual(function.ask(partner, payload=data, dest=inbox), 100 * rank + i)

    def test_a_function_calls_back(self) -> None:
        heard: list[int] = []
        answer = RemoteFunction("answer", lambda call: heard.append(call.arguments[0]))
        ask = RemoteFunction("ask", lambda call: answer.call(call.source, call.arguments))
        for i in range(100):
            ask.call(partner, bytes([i]))
        while len(heard) < 100:
            omnipgas.progress(0.01)
        self.assertEqual(heard, list(range(100)))

    def test_an_exception_is_an_error_of_the_caller(self) -> None:
        seen: list[str] = []

        def bad(call: Call) -> int:
            raise RuntimeError(f"bad {call.arguments.decode()}")

        too_long = RemoteFunction("too long", lambda call: 1 << 63)
        wrong: Any = lambda call: "text"  # noqa: E731
        text = RemoteFunction("text", wrong)
        function = RemoteFunction("bad", bad)
        ask_in_a_function = RemoteFunction("asks", lambda call: function.ask(call.source))
        waits = RemoteFunction("waits", lambda call: omnipgas.barrier())
        sys.unraisablehook = lambda what: seen.append(str(what.exc_value))
        try:
            omnipgas.barrier()
            for one in (function, too_long, text, ask_in_a_function, waits):
                self.fails(-13, "failed", one.ask, partner, b"there")
            function.call(partner, b"alone")
            while "bad alone" not in seen:
                omnipgas.progress(0.01)
            omnipgas.barrier()
        finally:
            sys.unraisablehook = sys.__unraisablehook__
        self.assertEqual(len(seen), 6)
        self.assertIn("bad there", seen)

    def test_threads_call_and_run(self) -> None:
        lock, counts = threading.Lock(), [0]

        def count(call: Call) -> int:
            counts[0] += 1  # one call of a rank at a time, and both ranks' with the GIL
            return call.arguments[0]

        function = RemoteFunction("count", count)
        replies: list[int] = []

        def work(number: int) -> None:
            for _ in range(50):
                reply = function.ask(partner, bytes([number]), timeout=OK_LIMIT)
                with lock:
                    replies.append(reply)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        omnipgas.barrier()
        self.assertEqual(counts, [200])
        self.assertEqual(sorted(replies), sorted(list(range(4)) * 50))

    def test_what_is_refused(self) -> None:
        function = RemoteFunction("refused", sum_of)
        none: Any = None
        with self.assertRaises(TypeError):
            RemoteFunction("none", none)
        with self.assertRaises(TypeError):
            function.ask(partner, none)
        self.fails(-2, "rank 7", function.ask, 7)
        self.fails(-6, "4001 bytes", function.call, partner, b"x" * 4001)
        with self.assertRaises((ValueError, BufferError)):
            function.call(partner, payload=np.zeros((4, 8))[:, ::2], dest=omnipgas.alloc(100))
        with self.assertRaisesRegex(omnipgas.OmplError, "not all ranks register"):
            RemoteFunction(f"of rank {rank}", sum_of)


class TheEnd(unittest.TestCase):
    def test_calls_run_before_the_end(self) -> None:
        counts = [0]

        def count(call: Call) -> None:
            counts[0] += 1

        function = RemoteFunction("at the end", count)
        for _ in range(10):
            function.call(partner)
        with session:
            pass
        self.assertEqual(counts, [10])


if __name__ == "__main__":
    sys.exit(run(Calls, TheEnd))

# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C and SIGTERM while a process is started: they are taken once the process is known, so that it can be ended."""

import signal
import threading
from typing import Any, Self

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Held:
    """Holds both back until release() or the end of the block, in the main thread, which alone gets them.

    What is started meanwhile does not inherit it: handlers are the default again when a program is executed."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in NUMBERS:
                self._before[number] = signal.signal(number, lambda came, _: self._came.append(came))
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """From now on they are taken as before, and so is one that came."""
        while self._before:
            signal.signal(*self._before.popitem())
        if self._came:
            signal.raise_signal(self._came.pop())

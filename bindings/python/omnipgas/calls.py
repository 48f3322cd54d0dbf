# SPDX-License-Identifier: BSD-3-Clause
"""Remote calls: functions of Python that other ranks have this rank run. See <omnipgas/ompl_calls.h>."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from omnipgas import _core


class Call(NamedTuple):
    """What a function is told of the call that it runs for."""

    source: int  # the rank that called
    arguments: bytes
    payload: int  # offset in this rank's segment where the payload lies; 0: there is none
    payload_length: int  # its bytes


class RemoteFunction:
    """A function that other ranks call.

    Made collectively, with the same name on every rank; registered until finalize(). `code(call)` returns the reply, an
    int of 64 bits with a sign, or None for 0. It runs with the GIL, in any thread of this process that is inside the
    layer, and may put, signal and call(); what would wait for another rank raises OmplError (OMPL_ERR_STATE). An
    exception that leaves it goes to sys.unraisablehook here, and the job goes on; a rank that has asked gets OmplError
    (OMPL_ERR_SYSTEM).
    """

    def __init__(self, name: str, code: Callable[[Call], int | None]) -> None:
        if not callable(code):
            raise TypeError(f"{code!r} cannot be called")
        self.name = name
        self.number = _core.call_register(name, lambda *told: code(Call(*told)))

    def call(
        self,
        rank: int,
        arguments: _core.Data = b"",
        *,
        payload: _core.Data | None = None,
        dest: _core.Place = 0,
        timeout: float | None = None,
    ) -> None:
        """Has `rank` run it, and returns once that is under way: both buffers may be reused.

        `arguments`: up to 4000 bytes, contiguous. `payload`: a contiguous buffer that is put to `dest` there first.
        Raises OmplTimeoutError if there was no room in time: the function will not run.
        """
        _core.call(self.number, rank, arguments, payload, dest, False, timeout)

    def ask(
        self,
        rank: int,
        arguments: _core.Data = b"",
        *,
        payload: _core.Data | None = None,
        dest: _core.Place = 0,
        timeout: float | None = None,
    ) -> int:
        """The same, and waits for what the function returns. Ctrl-C ends the wait, as OmplTimeoutError does: the
        function may then still run, and the payload is in use until it has."""
        reply: Any = _core.call(self.number, rank, arguments, payload, dest, True, timeout)
        return int(reply)

    def __repr__(self) -> str:
        return f"RemoteFunction({self.name!r}, number={self.number})"

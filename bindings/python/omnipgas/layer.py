# SPDX-License-Identifier: BSD-3-Clause
"""The layer in Python: what `import omnipgas` offers.

Names, ordering, threads and errors are those of <omnipgas/ompl.h>. Local data are NumPy arrays or any other buffer; a
place in the segments is an `Array`, a section of one, or an offset. Timeouts are in seconds, None waits without limit.
The GIL is given away while a call waits, and during transfers that are long or go over a network.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from types import EllipsisType, TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

try:
    from omnipgas import _core
except ImportError as missing:
    raise ImportError(
        "omnipgas was installed without its extension module: install a C compiler and Python's headers"
        " (Debian: python3-dev), then the package again"
    ) from missing

LIBRARY = "libomnipgas.so.0"


def _library() -> str:
    """The library: $OMNIPGAS_LIBRARY (but in a process with another user's rights), beside the package, in its
    environment, in the built tree around it, or the system's."""
    here = Path(__file__).resolve().parent
    places = (here / LIBRARY, Path(sys.prefix) / "lib" / LIBRARY, here.parents[2] / "build/lib" / LIBRARY)
    found = next((str(place) for place in places if place.exists()), LIBRARY)
    own_rights = (os.getuid(), os.getgid()) == (os.geteuid(), os.getegid())
    return (own_rights and os.environ.get("OMNIPGAS_LIBRARY")) or found


def _load(library: str) -> None:
    """Opens the library; the error says where it was looked for and what to do."""
    try:
        _core.load(library)
    except ImportError as wrong:
        raise ImportError(
            f"{wrong}; name the library in OMNIPGAS_LIBRARY (.../build/lib/{LIBRARY} of a built tree, or lib/{LIBRARY}"
            " of an installation), or put its folder into LD_LIBRARY_PATH"
        ) from wrong


_load(_library())

OmplError = _core.OmplError
OmplTimeoutError = _core.OmplTimeoutError
Handle = _core.Handle
CoreHalo = _core.Halo  # halo.py makes Halo of it

rank = _core.rank
size = _core.size
node_rank = _core.node_rank
node_size = _core.node_size
barrier = _core.barrier
failure_ack = _core.failure_ack
failed_ranks = _core.failed_ranks
stop = _core.stop
stopped_ranks = _core.stopped_ranks
process_quiet = _core.process_quiet
version = _core.version
finalize = _core.finalize
abort = _core.abort

Index = int | slice | EllipsisType


class Session:
    """The time between init() and finalize(): the `with` block of init().

    Its end is collective. If an exception leaves the block, finalize() is not called, since the other ranks may not
    come: the process then ends without, and the launcher ends the job.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            finalize()


def init() -> Session:
    """Joins the job. Collective, once per process; call finalize() at the end, or use the result in `with`."""
    _core.init()
    return Session()


class Array(_core.Section):
    """An array at the same offset of every rank's segment, or a section of one. Made by alloc().

    `offset` is that of the first element in bytes, `local` the calling rank's part as a NumPy array (a view: other
    ranks write into it). Views must not be used after free() or finalize().
    """

    def __init__(self, offset: int, local: NDArray[Any], root: Array | None = None) -> None:
        sort = {"i": 1, "f": 2}.get(local.dtype.kind, 0)
        super().__init__(offset, local.itemsize, sort, local.flags.c_contiguous, local.shape, local.strides)
        self.local = local
        self._root = root or self

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each dimension, as in NumPy."""
        return self.local.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, as in NumPy."""
        return self.local.dtype

    def __len__(self) -> int:
        return len(self.local)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Array:
        """A section of the array on every rank: integers and slices, as in NumPy. Never a copy; costs about a
        microsecond, so take sections out of inner loops."""
        key = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, bool) or not isinstance(part, int | slice | EllipsisType | np.integer) for part in key):
            raise TypeError("an Array is indexed by integers and slices")
        part = self.local[key if Ellipsis in key else (*key, ...)]
        return Array(self.offset + _address(part) - _address(self.local), part, self._root)

    def view(self, rank: int) -> NDArray[Any] | None:
        """The array as it lies in the memory of `rank`; None if that is not mapped here."""
        memory = _core.memory(rank, self._root.offset, self._root.nbytes)
        if memory is None:
            return None
        return np.ndarray(self.shape, self.dtype, memory, self.offset - self._root.offset, self.local.strides)

    def free(self) -> None:
        """Frees what alloc() made. Collective; no thread of any rank may use it, or a view of it, any more."""
        if self._root is not self:
            raise ValueError("a section is not freed, but the array it is of")
        _core.free(self.offset)

    def __repr__(self) -> str:
        return f"Array(offset={self.offset:#x}, shape={self.shape}, dtype={self.dtype})"


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def alloc(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> Array:
    """An array of zeros in every rank's segment. Collective, with the same arguments everywhere.

    Raises OmplError (OMPL_ERR_MEMORY on every rank if one is short; OMPL_ERR_ARG if it would be empty).
    """
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"{kind} holds Python objects, which mean nothing to other ranks")
    extents = shape if isinstance(shape, tuple) else (shape,)
    length = math.prod(extents) * kind.itemsize
    offset = _core.alloc(length)
    memory = _core.memory(rank(), offset, length)
    assert memory is not None  # the own rank is always mapped
    return Array(offset, np.ndarray(extents, kind, memory))


class Context(_core.Context):
    """A context of its own, for work that moves between threads; one thread at a time uses it.

    close(), or the end of a `with` block, completes its operations and destroys it.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# The operations on the calling thread's implicit context.
_implicit = _core.Context(False)
put = _implicit.put
get = _implicit.get
put_word = _implicit.put_word
put_signal = _implicit.put_signal
wait = _implicit.wait
poll = _implicit.poll
flush = _implicit.flush
quiet = _implicit.quiet
fence = _implicit.fence
signal = _implicit.signal
wait_until = _implicit.wait_until
wait_any = _implicit.wait_any
wait_some = _implicit.wait_some
wait_all = _implicit.wait_all
wait_memory = _implicit.wait_memory
wait_memory_any = _implicit.wait_memory_any
wait_memory_some = _implicit.wait_memory_some
wait_memory_all = _implicit.wait_memory_all
atomic = _implicit.atomic
update = _implicit.update
progress = _implicit.progress
put_nb = _implicit.put_nb
get_nb = _implicit.get_nb
put_indexed = _implicit.put_indexed
get_indexed = _implicit.get_indexed
handle_wait_any = _implicit.handle_wait_any

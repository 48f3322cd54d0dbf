# SPDX-License-Identifier: BSD-3-Clause
"""Halo exchange in Python: what <omnipgas/halo.h> says holds here."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from omnipgas.layer import CoreHalo, _address

Elements = slice | Sequence[int] | NDArray[Any]
Strategy = Literal["double-buffer", "single", "acked", "mpi", "mpi-persistent", "mpi-neighbor", "mpi-put", "auto"]
NONE = slice(0, 0)


class Neighbor(NamedTuple):
    """What a rank exchanges with another, which must list it too: elements of a vector, as one indexes an array."""

    rank: int
    send: Elements = NONE
    receive: Elements = NONE  # where what comes is put by unpack()


class Halo(CoreHalo):
    """Exchange of chosen elements of contiguous vectors of `length` elements. Made, and freed by free(), collectively;
    one thread at a time starts an exchange, any may wait. `vectors` is how many every exchange sends."""

    def __init__(
        self,
        neighbors: Sequence[Neighbor],
        length: int,
        dtype: DTypeLike = np.float64,
        vectors: int = 1,
        strategy: Strategy = "double-buffer",
    ) -> None:
        if strategy not in get_args(Strategy):
            raise ValueError(f"{strategy!r} is no strategy; there are {', '.join(get_args(Strategy))}")
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject:
            raise TypeError(f"{self.dtype} holds Python objects, which mean nothing to other ranks")
        self.length, self.vectors = length, vectors
        numbers = np.arange(length, dtype=np.uint32)
        send = [np.ascontiguousarray(numbers[n.send]) for n in neighbors]
        self._receive = [np.ascontiguousarray(numbers[n.receive]) for n in neighbors]
        lists = [
            (n.rank, _address(out), out.size, _address(into), into.size)
            for n, out, into in zip(neighbors, send, self._receive, strict=True)
        ]
        number = get_args(Strategy).index(strategy)
        super().__init__(lists, self.dtype.itemsize, vectors, length, number)

    def start(self, *vectors: NDArray[Any], timeout: float | None = None) -> None:
        """Starts the next exchange; the data of the one before are lost. The vectors must not change until it is
        complete. After OmplTimeoutError it is half started: call again, with the same vectors."""
        self._check(vectors)
        self._sent = vectors  # kept until the next
        self._start(tuple(_address(vector) for vector in vectors), timeout)

    def data(self, neighbor: int, vector: int = 0) -> NDArray[Any]:
        """What came from a neighbour, read-only, where it landed: valid once it has arrived, until the next start()."""
        length = self._receive[neighbor].size * self.dtype.itemsize
        return np.frombuffer(self._data(neighbor, vector, length), self.dtype)

    def unpack(self, neighbor: int, *vectors: NDArray[Any]) -> None:
        """Copies what came from a neighbour to its positions in the vectors."""
        self._check(vectors)
        for number, vector in enumerate(vectors):
            vector[self._receive[neighbor]] = self.data(neighbor, number)

    def _check(self, vectors: tuple[NDArray[Any], ...]) -> None:
        if len(vectors) != self.vectors:
            raise ValueError(f"the halo exchanges {self.vectors} vectors, not {len(vectors)}")
        for vector in vectors:
            if vector.shape != (self.length,) or vector.dtype != self.dtype or not vector.flags.c_contiguous:
                raise ValueError(f"a vector of the halo is contiguous and has {self.length} elements of {self.dtype}")

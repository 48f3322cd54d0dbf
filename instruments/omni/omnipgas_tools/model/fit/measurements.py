# SPDX-License-Identifier: BSD-3-Clause
"""What was measured of one operation between two ranks, all in nanoseconds; in the parameter file it stands beside what
was fitted to it, so that it can be fitted again."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_LENGTHS, LEAST_ROUNDS = 8, 3


class DataError(Exception):
    """Measurements from which no parameters can be had; the text says why and what to do."""


@dataclass
class Measurements:
    """Rounds by lengths. Each value is the mean of a block of round trips."""

    operation: str
    lengths: list[int]  # rising
    base: list[list[float]]  # a round's round trips without computation
    computation: list[float]  # asked for at each length: longer than the wire needs
    hidden: list[list[float]]  # round trips with it, less it
    send: list[list[float]]  # what the send took there
    receive: list[list[float]]  # and the receive
    several: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # round trips by computation and length
    bursts: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # by length: first send, each later one
    eager_up_to: int | None = None  # sends up to this length did not wait for the receiver, longer ones did
    unmatched_up_to: int | None = None  # the same, while the receiver computed but let the library make progress
    waiting: dict[str, bool] = field(default_factory=dict)  # whether sends of this length waited; {}: not looked at
    fresh: dict[str, list[float]] = field(default_factory=dict)  # round trips of other lengths, by ranks started later

    def matrix(self, name: str) -> Array:
        """Rounds by lengths."""
        return np.asarray(getattr(self, name), dtype=float)

    def check(self) -> Self:
        """Itself; raises DataError if it cannot be used."""
        if self.lengths != sorted(set(self.lengths)):
            raise DataError(f"{self.operation}: the lengths must rise")
        if len(self.lengths) < LEAST_LENGTHS and self.lengths != [0]:
            raise DataError(f"{self.operation}: {len(self.lengths)} lengths are too few, {LEAST_LENGTHS} are needed")
        for name in ("base", "hidden", "send", "receive"):
            try:
                values = self.matrix(name)
            except ValueError as error:
                raise DataError(f"{self.operation}: {name} is no table of rounds by lengths") from error
            if values.ndim != 2 or values.shape[1] != len(self.lengths):
                raise DataError(f"{self.operation}: {name} is no table of rounds by {len(self.lengths)} lengths")
            if len(values) < LEAST_ROUNDS:
                raise DataError(f"{self.operation}: {len(values)} rounds of {name}, {LEAST_ROUNDS} are needed")
            bad = ~np.isfinite(values) | (values <= 0)
            if bad.any():
                where = self.lengths[int(np.nonzero(bad)[1][0])]
                raise DataError(f"{self.operation}: {name} at {where} bytes is not a positive number: measure again")
        for name in ("bursts", "several"):
            try:
                blocks = [block for by in getattr(self, name).values() for block in by.values()]
                keys = [int(key) for by in getattr(self, name).values() for key in by if name == "several"]
                whole = all(len(block) and np.isfinite(np.asarray(block, dtype=float)).all() for block in blocks)
            except (AttributeError, TypeError, ValueError):
                whole, keys = False, []
            if not whole or not set(keys) <= set(self.lengths):
                raise DataError(f"{self.operation}: {name} holds what is no measurement: measure again")
        try:
            whole = all(int(k) >= 0 and len(v) and min(map(float, v)) > 0 for k, v in self.fresh.items())
        except (AttributeError, TypeError, ValueError):
            whole = False
        if not whole:
            raise DataError(f"{self.operation}: fresh holds what is no measurement: measure again")
        if len({len(self.matrix(name)) for name in ("base", "hidden", "send", "receive")}) != 1:
            raise DataError(f"{self.operation}: the tables have different numbers of rounds")
        return self

    def to_json(self) -> dict[str, Any]:
        """Rounded to what a clock can tell."""
        return {key: _rounded(value) for key, value in asdict(self).items()}

    @classmethod
    def from_json(cls, text: Any) -> Self:
        """Raises DataError for anything else."""
        try:
            return cls(**text).check()
        except TypeError as error:
            raise DataError(f"no measurements: {error}") from error


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value

# SPDX-License-Identifier: BSD-3-Clause
"""What each rank does and when, as ompl-model writes it (model/timeline.hpp), read into columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"OMPLTL01"
RECORD = np.dtype([
    ("begin", "<f8"), ("end", "<f8"), ("bytes", "<u8"), ("rank", "<u4"), ("peer", "<i4"), ("site", "<u4"),
    ("activity", "u1"), ("call", "u1"), ("unused", "<u2"),
])  # fmt: skip
PARTS = {"compute": "computation", "overhead": "overhead", "send_wait": "send waiting", "recv_wait": "receive waiting"}
CALLS = ("computation", "send", "nonblocking send", "receive", "nonblocking receive", "wait")
MESSAGE = len(PARTS)  # the activity that is none


class TimelineError(Exception):
    """A file that is none, or damaged."""


@dataclass(frozen=True)
class Timeline:
    """Times in nanoseconds. Intervals are sorted by rank and time; those of a rank follow each other from 0 on."""

    starts: np.ndarray[Any, np.dtype[np.uint32]]  # of each rank, the first interval; and one past the last
    intervals: np.ndarray[Any, Any]  # of RECORD
    messages: np.ndarray[Any, Any]  # the same, by the time of the send; rank: the receiver, peer: the sender

    @property
    def ranks(self) -> int:
        """How many."""
        return len(self.starts) - 1


def read(path: Path, ranks: int) -> Timeline:
    """The timeline of so many ranks."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise TimelineError(f"{path}: no timeline of ompl-model")
        records = np.fromfile(file, RECORD)
    if (path.stat().st_size - len(MAGIC)) % RECORD.itemsize or np.any(records["rank"] >= ranks):
        raise TimelineError(f"{path}: damaged")
    is_message = records["activity"] == MESSAGE
    messages, intervals = records[is_message], records[~is_message]
    intervals = intervals[np.argsort(intervals["rank"], kind="stable")]
    starts = np.searchsorted(intervals["rank"], np.arange(ranks + 1)).astype(np.uint32)
    return Timeline(starts, intervals, messages[np.argsort(messages["begin"], kind="stable")])

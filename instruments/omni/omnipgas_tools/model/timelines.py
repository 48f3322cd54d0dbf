# SPDX-License-Identifier: BSD-3-Clause
"""What each thread does and when, as ompl-model writes it (model/replay/timeline.hpp), read into columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from omnipgas_tools.model.program import ModelError

MAGIC = b"OMPLTL01"
RECORD = np.dtype([
    ("begin", "<f8"), ("end", "<f8"), ("bytes", "<u8"), ("lane", "<u4"), ("peer", "<i4"), ("site", "<u4"),
    ("activity", "u1"), ("call", "u1"), ("unused", "<u2"),
])  # fmt: skip
PARTS = {"compute": "computation", "overhead": "overhead", "send_wait": "send waiting", "recv_wait": "receive waiting"}
CALLS = ("computation", "send", "nonblocking send", "receive", "nonblocking receive", "wait")
MESSAGE = len(PARTS)  # the activity that is none


class TimelineError(ModelError):
    """A file that is none, or damaged."""


@dataclass(frozen=True)
class Timeline:
    """Times in nanoseconds. Intervals are sorted by lane and time; those of a lane follow each other from 0 on. A lane
    is a rank, or where ranks have several threads one of those."""

    starts: np.ndarray[Any, np.dtype[np.uint32]]  # of each lane, the first interval; and one past the last
    intervals: np.ndarray[Any, Any]  # of RECORD
    messages: np.ndarray[Any, Any]  # the same, by the time of the send; lane: the receiver, peer: the sender's

    @property
    def lanes(self) -> int:
        """How many."""
        return len(self.starts) - 1


def lanes(prediction: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Name and breakdown of each."""
    if "per_thread" in prediction:
        return [(f"rank {row['rank']}.{row['thread']}", row) for row in prediction["per_thread"]]
    return [(f"rank {rank}", row) for rank, row in enumerate(prediction["per_rank"])]


def read(path: Path, count: int) -> Timeline:
    """The timeline of so many lanes."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise TimelineError(f"{path}: no timeline of ompl-model")
        records = np.fromfile(file, RECORD)
    if (path.stat().st_size - len(MAGIC)) % RECORD.itemsize or np.any(records["lane"] >= count):
        raise TimelineError(f"{path}: damaged")
    is_message = records["activity"] == MESSAGE
    messages, intervals = records[is_message], records[~is_message]
    intervals = intervals[np.argsort(intervals["lane"], kind="stable")]
    starts = np.searchsorted(intervals["lane"], np.arange(count + 1)).astype(np.uint32)
    return Timeline(starts, intervals, messages[np.argsort(messages["begin"], kind="stable")])

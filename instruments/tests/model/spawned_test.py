# SPDX-License-Identifier: BSD-3-Clause
"""Traces of programs that spawn processes: what is done with those is computation and said; exports can be read."""

from pathlib import Path

import pytest
from commands import MODEL, predict, run

from . import recorded
from .recorded import communicator, record

SPAWNED = 2**32 - 32766  # MPI_UNDEFINED, as the rank in MPI_COMM_WORLD of a process that is not in it
MERGED = 7
SEVERAL = 8  # flag of a completion of several
WHY = "in a communicator with spawned processes"


@pytest.fixture(name="trace")
def trace_of_a_parent(tmp_path: Path) -> Path:
    """Rank 0 talks to a spawned process, in every way; both ranks to each other."""
    folder = tmp_path / "trace"
    folder.mkdir()
    begin, end = record("Init", 0, 0), record("Finalize", 90_000, 90_000)
    outside = [
        record("send", 1000, 2000, 8, 2, comm=MERGED),
        record("isend", 2000, 2100, 8, 2, comm=MERGED, request=1),
        record("irecv", 2100, 2200, 8, 2, comm=MERGED, request=2),
        record("Waitall", 2200, 9000, 2, flags=SEVERAL),
        *recorded.ids([1, 2]),
        record("Allreduce", 9000, 10_000, 8, comm=MERGED),
        record("SendInit", 10_000, 10_100, 8, 2, comm=MERGED, request=3),
        record("Start", 10_100, 10_200, request=3),
        record("Wait", 10_200, 10_300, request=3),
    ]
    calls = [[begin, *outside, record("send", 20_000, 20_100, 8, 1, comm=1), end],
             [begin, record("recv", 20_000, 30_000, 8, 0, comm=1), end]]  # fmt: skip
    recorded.write(folder, calls, lambda rank: communicator(MERGED, 77, rank, 3, [0, 1, SPAWNED]))
    return folder


def test_what_is_done_with_them_is_computation_and_said(trace: Path) -> None:
    found = predict(trace)
    assert found["messages"] == 1 and found["unmatched_count"] == 0
    assert found["not_modelled"] == {
        f"{name} {WHY}": 1 for name in ("Send", "Isend", "Irecv", "Allreduce", "SendInit")
    } | {"Start": 1}


def test_exports_are_read_again(trace: Path, tmp_path: Path) -> None:
    for command, name in (("goal", "x.goal"), ("otf2", "x.otf2")):
        done = run(MODEL, command, trace, tmp_path / name)
        if "without OTF2" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        again = predict(tmp_path / name)
        assert (again["messages"], again["unmatched_count"]) == (1, 0)

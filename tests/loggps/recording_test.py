# SPDX-License-Identifier: BSD-3-Clause
"""Traces of random programs give the times of the programs; what else a trace may hold; what is refused."""

from __future__ import annotations

import json
import random
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from . import common, recorded, reference
from .recorded import ANOTHER, WORLD, record


def predict(folder: Path, fails: bool = False) -> Any:
    command = [str(common.MODEL), "predict", str(folder), "--params", "myrinet", "--no-sensitivity"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else json.loads(done.stdout)


def whole_nanoseconds(programs: list[list[Any]]) -> list[list[Any]]:
    return [[["compute", round(op[1])] if op[0] == "compute" else op for op in program] for program in programs]


@pytest.mark.parametrize("any_source", [False, True])
def test_a_trace_takes_the_time_of_its_program(tmp_path: Path, any_source: bool) -> None:
    p = common.machine("Myrinet")
    compared = 0
    for seed in range(40):
        maker = common.ProgramMaker(random.Random(seed), any_source)
        programs = whole_nanoseconds(maker.programs)
        try:
            world = reference.World(programs, "loggps", p)
        except reference.Deadlock:
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        matches = [world.matched(rank) for rank in range(maker.ranks)]
        recorded.write(folder, [recorded.Recorder(program, maker.ranks, matches[rank]).calls
                                for rank, program in enumerate(programs)])  # fmt: skip
        # The order of the matches is the trace's, not that of the replay.
        expected = common.replay([{"params": common.parameter_file("loggps", p), "model": "loggps",
                                   "programs": world.with_matches(programs)}])[0]  # fmt: skip
        found = predict(folder)
        assert found["predicted_seconds"] == pytest.approx(expected["predicted_seconds"], rel=1e-12), seed
        assert found["per_rank"] == expected["per_rank"], seed
        assert found["predicted_seconds"] * 1e9 == pytest.approx(max(rank.end for rank in world.ranks), rel=1e-9)
        compared += 1
    assert compared > 20


def two_ranks(folder: Path, first: list[bytes], second: list[bytes]) -> None:
    """Both begin at 1000 ns and end at 9000."""
    begin, end = [record("Init", 0, 1000)], [record("Finalize", 9000, 9001)]
    recorded.write(folder, [begin + first + end, begin + second + end])


def test_sendrecv_persistent_requests_and_collectives(tmp_path: Path) -> None:
    def calls(rank: int) -> list[bytes]:
        other = 1 - rank
        return [
            record("Sendrecv", 2000, 2100, 100, other, 1, WORLD),
            record("Match", 2100, 2100, 100, other, 1),
            record("SendInit", 2200, 2300, 100, other, 2, WORLD, request=7),
            record("RecvInit", 2300, 2400, 100, -1, -1, WORLD, request=8, flags=3),
            record("Start", 2400, 2500, 2, request=0, flags=recorded.SEVERAL),
            *recorded.ids([7, 8]),
            record("Waitall", 2500, 2600, 2, flags=recorded.SEVERAL),
            *recorded.ids([7]),
            record("Match", 2600, 2600, 100, other, 2, request=8),
            record("Allreduce", 2700, 2800, 64, -3, 0, ANOTHER),
            record("Barrier", 2800, 2900, 0, -3, 0, WORLD),
            record("Opaque", 3000, 4000),
        ]

    two_ranks(tmp_path, calls(0), calls(1))
    found = predict(tmp_path)
    assert found["messages"] == 8
    assert found["unmatched_count"] == 0
    assert found["not_modelled"] == {"Opaque": 2}
    # Between calls: 1000 before, 100 after the first, 100 and 100, 5000 at the end; and the opaque call.
    assert found["per_rank"][0]["compute"] == pytest.approx(1e-9 * (1000 + 100 + 100 + 100 + 5000 + 1000))


def test_a_deadlock_names_ranks_and_calls(tmp_path: Path) -> None:
    receive = record("recv", 2000, 3000, 8, 1, 5, WORLD)
    two_ranks(tmp_path, [receive], [record("send", 2000, 3000, 8, 0, 6, WORLD)])
    said = predict(tmp_path, fails=True)
    assert "1 of 2 ranks stand still for ever" in said
    assert "rank 0, unknown call site: receives from rank 1, tag 5, but nobody sends" in said


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    assert "no file rank.*" in predict(tmp_path, fails=True)
    two_ranks(tmp_path, [record("send", 2000, 3000, 8, 7, 6, WORLD)], [])
    assert "a call names rank 7 of a communicator of 2" in predict(tmp_path, fails=True)
    two_ranks(tmp_path, [], [])
    (tmp_path / "rank.000001.omplt").unlink()
    assert "of 2 ranks these have no file: 1" in predict(tmp_path, fails=True)
    two_ranks(tmp_path, [], [])
    path = tmp_path / "rank.000001.omplt"
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, recorded.HEADER_BYTES + recorded.BLOCK_BYTES + 70, 12345)
    path.write_bytes(data)
    assert "is damaged" in predict(tmp_path, fails=True)


def test_a_hostile_trace_is_refused_or_replayed(tmp_path: Path) -> None:
    """Whatever numbers stand in the records: sums are right, so that the reader passes them on."""
    draw = random.Random(7)
    kinds = [*recorded.KINDS.values(), 110, 145, 9999, 0x8005]
    numbers = [0, 1, 2, 3, 7, 2**31 - 1, -1, -2, -3, -4, -(2**31)]
    refused = 0
    for _ in range(150):
        base = whole_nanoseconds(common.ProgramMaker(random.Random(draw.random()), True).programs)
        calls = [recorded.Recorder(program, len(base), {}).calls for program in base]
        for _ in range(draw.randint(1, 5)):
            records = draw.choice(calls)
            i = draw.randrange(len(records))
            place = draw.choice([24, 28, 32, 36, 44, 46])  # peer, tag, comm, request, kind, flags
            word = bytearray(records[i])
            if place < 44:
                struct.pack_into("<i", word, place, draw.choice(numbers))
            else:
                struct.pack_into("<H", word, place, draw.choice(kinds) if place == 44 else draw.randrange(512))
            records[i] = bytes(word)
        recorded.write(tmp_path, calls)
        command = [str(common.MODEL), "predict", str(tmp_path), "--params", "myrinet"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 1), done
        if done.returncode == 1:
            refused += 1
            assert done.stderr.startswith("ompl-model: "), done.stderr
        else:
            assert json.loads(done.stdout)["predicted_seconds"] >= 0
        for path in tmp_path.iterdir():
            path.unlink()
    assert 10 < refused < 150

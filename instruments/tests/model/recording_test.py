# SPDX-License-Identifier: BSD-3-Clause
"""Traces of random programs give the times of the programs; what else a trace may hold; what is refused."""

import json
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import MODEL, predict, run
from omnipgas_tools.model import pictures, timelines

from . import common, recorded, reference
from .recorded import ANOTHER, WORLD, record

MYRINET = common.machine("Myrinet")
Change = Callable[[list[list[Any]]], list[list[Any]]]  # of programs


def whole_nanoseconds(programs: list[list[Any]]) -> list[list[Any]]:
    return [[["compute", round(op[1])] if op[0] == "compute" else op for op in program] for program in programs]


def replayed(programs: list[list[Any]], **more: Any) -> dict[str, Any]:
    """By the replayer, on Myrinet."""
    params = common.parameter_file("loggps", MYRINET)
    return common.replay([{"params": params, "model": "loggps", "programs": programs, **more}])[0]


def ending(
    seeds: Iterable[int], any_source: bool = False, change: Change = whole_nanoseconds
) -> Iterator[tuple[int, list[list[Any]], reference.World]]:
    """Random programs that end, with what the reference makes of them."""
    for seed in seeds:
        programs = change(common.ProgramMaker(random.Random(seed), any_source).programs)
        with suppress(reference.Deadlock):
            world = reference.World(programs, "loggps", MYRINET)
            yield seed, programs, world


def trace_of(folder: Path, programs: list[list[Any]], world: reference.World) -> Path:
    """The folder, made, with the trace of programs that end as the reference has them."""
    folder.mkdir()
    recorders = [recorded.Recorder(one, len(programs), world.matched(rank)) for rank, one in enumerate(programs)]
    recorded.write(folder, [recorder.calls for recorder in recorders])
    return folder


@pytest.mark.parametrize("any_source", [False, True])
def test_a_trace_takes_the_time_of_its_program(tmp_path: Path, any_source: bool) -> None:
    compared = 0
    for seed, programs, world in ending(range(40), any_source):
        # The order of the matches is the trace's, not that of the replay.
        expected = replayed(world.with_matches(programs))
        found = predict(trace_of(tmp_path / str(seed), programs, world))
        assert found["predicted_seconds"] == pytest.approx(expected["predicted_seconds"], rel=1e-12), seed
        assert found["per_rank"] == expected["per_rank"], seed
        assert found["predicted_seconds"] * 1e9 == pytest.approx(max(rank.end for rank in world.ranks), rel=1e-9)
        compared += 1
    assert compared > 20


def handing_what_they_post(program: list[Any]) -> list[Any]:
    """With requests handed over where they are posted, as traces are read, and no moments, which traces have not."""
    hands = {op[1]: op for op in program if op[0] == "hand" and op[1] >= 0}
    out, posted = [], 0
    for op in program:
        if op[0] == "hand":
            continue
        out.append(op)
        if op[0] in ("isend", "irecv"):
            out += [hands[posted]] if posted in hands else []
            posted += 1
    return out


def without_moments(programs: list[list[Any]]) -> list[list[Any]]:
    moments = {op[2] for program in programs for op in program if op[0] == "hand" and op[1] < 0}
    out = []
    for program in programs:
        waits = [[*op[:2], [one for one in op[2] if one not in moments]] if op[0] == "wait" else op for op in program]
        out.append(handing_what_they_post([op for op in waits if op[0] != "wait" or op[1] or op[2]]))
    return out


def threads_as_recorded(maker: common.ThreadsMaker) -> list[list[Any]]:
    """The programs of all threads. What a further one computes after its last call, nobody records."""
    programs = without_moments(whole_nanoseconds([*maker.first, *(program for _, program in maker.further)]))
    count = len(maker.first)
    ends = [max((at for at, op in enumerate(one) if op[0] != "compute"), default=-1) for one in programs]
    return programs[:count] + [one[: end + 1] for one, end in zip(programs[count:], ends[count:], strict=True)]


Further = list[tuple[int, list[Any]]]  # threads beyond the first of a rank, with their ranks


def ending_threads(
    folder: Path, seeds: Iterable[int], change: Change = list
) -> Iterator[tuple[Path, list[list[Any]], Further]]:
    """Traces, each in a folder of its own, of random programs of threads that end."""
    for seed in seeds:
        maker = common.ThreadsMaker(random.Random(seed), any_source=False)
        programs, count = change(threads_as_recorded(maker)), len(maker.first)
        further = [(rank, one) for rank, one in list(zip(maker.owners, programs, strict=True))[count:] if one]
        with suppress(reference.Deadlock):
            reference.World(programs[:count], "loggps", MYRINET, threads=further)
            (folder / str(seed)).mkdir()
            recorded.write_threads(folder / str(seed), programs[:count], further)
            yield folder / str(seed), programs[:count], further


def count_hands(first: list[list[Any]], further: Further) -> int:
    return sum(op[0] == "hand" for program in [*first, *(one for _, one in further)] for op in program)


def test_threads_of_a_trace_take_the_time_of_their_programs(tmp_path: Path) -> None:
    compared = handed = 0
    for folder, first, further in ending_threads(tmp_path, range(40)):
        expected, found = replayed(first, threads=further), predict(folder)
        for name in ("predicted_seconds", "per_rank", "per_thread", "messages", "unmatched_count"):
            assert found.get(name) == expected.get(name), (folder.name, name)
        handed += count_hands(first, further)
        compared += len(further) > 0
    assert compared > 15
    assert handed > 15


def pairs(rank: int) -> list[list[Any]]:
    """Two threads of two ranks. Each exchanges with its counterpart; the second also waits for the first's requests."""
    other = 1 - rank
    first = [["compute", 50], ["isend", other, 1, 0, 20000, False], ["hand", 0, 1], ["recv", other, 1, 0]]
    second = [["compute", 9000 + rank], ["irecv", other, 2, 0], ["send", other, 2, 0, 100, False], ["wait", [0], [1]]]
    return [first, second]


def test_threads_are_named_and_have_lanes(tmp_path: Path) -> None:
    programs = [pairs(rank) for rank in range(2)]
    first, further = [of[0] for of in programs], [(rank, of[1]) for rank, of in enumerate(programs)]
    recorded.write_threads(tmp_path, first, further)
    found = predict(tmp_path, "--timeline", str(tmp_path / "timeline"))
    assert (found["ranks"], found["messages"], found["unmatched_count"]) == (2, 4, 0)
    assert [(row["rank"], row["thread"]) for row in found["per_thread"]] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    world = reference.World(first, "loggps", MYRINET, threads=further)
    assert found["predicted_seconds"] * 1e9 == pytest.approx(max(one.end for one in world.threads), rel=1e-9)
    drawn = timelines.read(tmp_path / "timeline", len(timelines.lanes(found)))
    for lane, (_, row) in enumerate(timelines.lanes(found)):
        mine = drawn.intervals[drawn.starts[lane] : drawn.starts[lane + 1]]
        for part, name in enumerate(timelines.PARTS):
            time = float(np.sum((mine["end"] - mine["begin"])[mine["activity"] == part]))
            assert time == pytest.approx(row[name] * 1e9, abs=1e-3)
    assert sorted(zip(drawn.messages["peer"], drawn.messages["lane"], strict=True)) == [(0, 2), (1, 3), (2, 0), (3, 1)]
    pictures.timeline(tmp_path / "timeline.png", found, drawn)


def test_a_thread_that_stands_still_is_named(tmp_path: Path) -> None:
    programs = [pairs(rank) for rank in range(2)]
    first, further = [of[0] for of in programs], [(rank, of[1]) for rank, of in enumerate(programs)]
    further[1][1][1][1] = 0  # receives from itself, tag 2
    first[1].insert(1, ["isend", 0, 7, 0, 30, False])
    first[1][3][1] = 1
    further[1][1][1][2] = 9
    recorded.write_threads(tmp_path, first, further)
    said = predict(tmp_path, fails=True)
    assert "1 of 4 threads of ranks stand still for ever" in said
    assert "rank 1, thread 2, unknown call site: receives from rank 0, tag 9, but nobody sends" in said
    further[1][1][1][2] = 2
    recorded.write_threads(tmp_path, first, further)
    assert [(row["kind"], row["rank"], row["thread"], row["tag"]) for row in predict(tmp_path)["unmatched"]] == [
        ("send", 1, 1, 7)
    ]


def test_messages_are_not_cut_where_threads_share_them(tmp_path: Path) -> None:
    def cut() -> Any:
        changes = tmp_path / "changes.json"
        changes.write_text('[{"name": "cut", "fragment": 1000}]')
        done = run(MODEL, "whatif", tmp_path, "--params", "myrinet", "--changes", changes, check=True)
        return json.loads(done.stdout)["changes"][0]

    first = [[["send", 1, 1, 0, 5000, False]], [["recv", 0, 1, 0], ["recv", 0, 2, 0]]]
    recorded.write_threads(tmp_path, first, [(0, [["send", 1, 2, 0, 5000, False]])])
    assert cut()["predicted_seconds"] > 0
    first[1][1][2] = 1
    recorded.write_threads(tmp_path, first, [(0, [["send", 1, 1, 0, 5000, False]])])
    assert "rank 0, thread 1, and thread 2, unknown call site, send messages of one kind" in cut()["error"]
    programs = [pairs(rank) for rank in range(2)]
    recorded.write_threads(tmp_path, [of[0] for of in programs], [(rank, of[1]) for rank, of in enumerate(programs)])
    assert "rank 0, thread 1: another thread waits for what it posted" in cut()["error"]


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
        done = run(MODEL, "predict", tmp_path, "--params", "myrinet")
        assert done.returncode in (0, 1), done
        if done.returncode == 1:
            refused += 1
            assert done.stderr.startswith("ompl-model: "), done.stderr
        else:
            assert json.loads(done.stdout)["predicted_seconds"] >= 0
        for path in tmp_path.iterdir():
            path.unlink()
    assert 10 < refused < 150

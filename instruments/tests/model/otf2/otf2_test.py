# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 archives of recorded traces replay as the traces do; damaged ones are refused in one line."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import BUILD, MODEL, predict, refusal, run

from .. import common, recorded
from ..recorded import ANOTHER, WORLD, counts, record
from ..recording_test import ending, trace_of, two_ranks

SAME = ("predicted_seconds", "per_rank", "messages", "rendezvous", "not_modelled", "unmatched_count")


def model(*arguments: str | Path, check: bool = False) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LSAN_OPTIONS": f"suppressions={common.HERE / 'otf2.supp'}:print_suppressions=0"}
    return run(MODEL, *arguments, env=environment, check=check)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if "built without OTF2" in model("predict", "none.otf2", "--params", "myrinet").stderr:
        pytest.skip("built without OTF2")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A folder for a trace, beside which there is room for its archive."""
    folder = tmp_path / "trace"
    folder.mkdir()
    return folder


def archive_of(trace: Path, warning: str = "") -> Path:
    """The archive beside the trace."""
    out = trace.parent / f"{trace.name}-archive" / "x.otf2"
    out.parent.mkdir()
    done = model("otf2", trace, out, check=True)
    assert done.stderr == warning
    return out


def is_the_same(trace: Path, warning: str = "") -> Any:
    """The archive's replay, which is that of the trace to the last bit: both count nanoseconds."""
    of_trace, of_archive = predict(trace), predict(archive_of(trace, warning))
    for name in SAME:
        assert of_archive[name] == of_trace[name], name
    return of_archive


@pytest.mark.parametrize("any_source", [False, True])
def test_archives_take_the_time_of_their_traces(tmp_path: Path, any_source: bool) -> None:
    compared = 0
    for seed, programs, world in ending(range(30), any_source):
        is_the_same(trace_of(tmp_path / str(seed), programs, world))
        compared += 1
    assert compared > 15


def test_a_folder_of_score_p_stands_for_its_archive(tmp_path: Path) -> None:
    [(_, programs, world)] = ending([1])
    trace = trace_of(tmp_path / "trace", programs, world)
    folder = tmp_path / "scorep-20261129_1200_1"
    folder.mkdir()
    model("otf2", trace, folder / "traces.otf2", check=True)
    of_trace, of_folder = predict(trace), predict(folder)
    for name in SAME:
        assert of_folder[name] == of_trace[name], name
    shown = run(BUILD / "bin/ompl_trace_dump", folder)
    assert "a folder of Score-P's: otf2-print shows its archive" in refusal(shown)
    shown = run(BUILD / "bin/ompl_trace_dump", folder / "traces.otf2")
    assert "an OTF2 archive, which otf2-print shows" in refusal(shown)


def test_all_kinds_of_calls(trace: Path) -> None:
    def calls(rank: int) -> list[bytes]:
        other, root = 1 - rank, rank == 0
        return [
            record("Pcontrol", 1500, 1501, tag=1),
            record("Sendrecv", 2000, 2100, 100, other, 1, WORLD),
            record("Match", 2100, 2100, 100, other, 1),
            record("Sendrecv", 2120, 2130, 100, other if root else -2, 3, WORLD),
            record("Match", 2130, 2130, 100, other if rank else -2, 3),
            record("send", 2140, 2150, 100, -2, 1, WORLD),
            record("irecv", 2150, 2160, 100, -2, 1, WORLD, request=5),
            record("Wait", 2160, 2170, request=5),
            record("irecv", 2170, 2175, 100, other, 77, WORLD, request=6),
            record("Wait", 2175, 2178, request=6, flags=32),  # cancelled
            record("RecvInit", 2178, 2179, 100, other, 78, WORLD, request=10),
            record("Start", 2179, 2180, request=10),
            record("Wait", 2180, 2181, request=10, flags=32),  # cancelled, but the next is not
            record("Start", 2181, 2182, request=10),
            record("send", 2182, 2184, 100, other, 78, WORLD),
            record("Wait", 2184, 2190, request=10),
            record("SendInit", 2200, 2300, 100, other, 2, WORLD, request=7),
            record("RecvInit", 2300, 2400, 100, -1, -1, WORLD, request=8, flags=3),
            *(one for start in (2400, 2700) for one in (
                record("Start", start, start + 100, 2, request=0, flags=recorded.SEVERAL),
                *recorded.ids([7, 8]),
                record("Waitall", start + 100, start + 200, 2, flags=recorded.SEVERAL),
                *recorded.ids([7]),
                record("Match", start + 200, start + 200, 100, other, 2, request=8),
            )),
            record("Allreduce", 3000, 3100, 64, -3, 0, ANOTHER),
            record("Bcast", 3100, 3110, 70000, 1, 0, WORLD),
            record("Gatherv", 3200, 3210, 30 + rank, 0, 0, WORLD),
            *(counts(True, [30, 31]) if root else []),
            record("Scatterv", 3220, 3230, 90 if root else 0, 0, 0, WORLD),
            *(counts(False, [30, 60]) if root else []),
            record("Allgatherv", 3230, 3240, 50 + 17 * rank, -3, 0, WORLD),
            *counts(True, [50, 67]),
            record("Alltoallv", 3250, 3260, 400, -3, 0, ANOTHER),
            *counts(False, [300, 100] if root else [200, 300]), *counts(True, [300, 200] if root else [100, 300]),
            record("Ialltoallv", 3270, 3280, 400, -3, 0, WORLD, request=9),
            *counts(False, [300, 10] if root else [20, 300]), *counts(True, [300, 20] if root else [10, 300]),
            record("Reduce", 3280, 3290, 555, 1, 0, WORLD),
            record("ReduceScatter", 3300, 3310, 30000, -3, 0, WORLD),
            *counts(True, [9000, 21000]),
            record("Scan", 3310, 3320, 44, -3, 0, WORLD),
            record("Exscan", 3330, 3340, 45, -3, 0, WORLD),
            record("Barrier", 3350, 3360, 0, -3, 0, WORLD),
            record("Wait", 3370, 3380, request=9),
            record("Pcontrol", 3390, 3391, tag=0),
            record("Opaque", 4000, 5000),
            record("CommDup", 5000, 5500, comm=WORLD),
            record("send", 5600, 5700, 100, other, 1, WORLD, flags=64),  # failed
        ]  # fmt: skip

    two_ranks(trace, calls(0), calls(1))
    of_trace, of_archive = predict(trace), predict(archive_of(trace))
    for name in set(SAME) - {"not_modelled"}:
        assert of_archive[name] == of_trace[name], name
    assert of_archive["region_seconds"] == of_trace["region_seconds"] > 0
    assert of_trace["not_modelled"] == {"CommDup": 2, "Opaque": 2, "Send": 2}
    assert of_archive["not_modelled"] == {"CommDup": 2, "MPI_Opaque": 2, "MPI_Send (failed)": 2}
    assert of_archive["messages"] > 20


@pytest.mark.parametrize("site", [0, 1])
def test_loops_of_tests_and_probes_come_back(trace: Path, site: int) -> None:
    found = 4

    def calls(_: int) -> list[bytes]:
        looks = ("Iprobe", 0), ("Iprobe", 0), ("Iprobe", found), ("Iprobe", 0), ("Test", 0), ("Test", found)
        return [
            record("Ibarrier", 2000, 2001, comm=WORLD, request=7),
            *(record(kind, 3000 + 500 * i, 3010 + 500 * i, flags=flags, site=site and 1 + (kind == "Test"))
              for i, (kind, flags) in enumerate(looks)),
            record("Test", 6000, 6010, site=site and 2),
            record("Test", 6500, 6510, request=7, flags=found, site=site and 2),
        ]  # fmt: skip

    starts, ends = record("Init", 10, 1000), record("Finalize", 10**6, 10**6)
    recorded.write(trace, [[starts, *calls(rank), ends] for rank in range(2)])
    computed = is_the_same(trace)["per_rank"][0]["compute"]
    between = 4 * 490 if site else 0
    assert computed * 1e9 == pytest.approx(10**6 - 1000 - 1 - 8 * 10 - between)


def test_what_otf2_cannot_say_is_counted(trace: Path) -> None:
    first = [
        record("SsendInit", 2000, 2100, 8, 1, 5, WORLD, request=1),
        record("Start", 2100, 2200, request=1),
        record("Wait", 2200, 2300, request=1),
        record("Put", 2400, 2500, 8, 1, comm=1),
        record("WinFence", 2500, 2600, comm=1),
        record("NeighborAllgather", 2600, 2700, 8, comm=WORLD),
        record("OmplPutWord", 2700, 2800, 4, 1, comm=WORLD),
    ]
    second = [
        record("recv", 2000, 3000, 8, 0, 5, WORLD),
        record("irecv", 3000, 3100, 8, 0, 6, WORLD, request=1),
    ]
    starts, ends = record("Init", 0, 1000), record("Finalize", 9000, 9001)
    recorded.write(trace, [[starts, *one, ends] for one in (first, second)], lambda _: [recorded.window(1, WORLD)])
    archive = archive_of(
        trace,
        "warning: 1 persistent sends became ordinary ones, for OTF2 does not tell their mode\n"
        "warning: 4 one-sided and neighbour operations, and this layer's own, became regions alone, which replay as "
        "computation\n"
        "warning: 1 nonblocking operations that nothing completed are left out\n",
    )
    computation = {"Put", "WinFence", "NeighborAllgather", "ompl_put_word", "Irecv"}
    assert predict(archive)["not_modelled"] == dict.fromkeys(computation, 1)


def test_otf2_print_reads_an_archive(trace: Path) -> None:
    if shutil.which("otf2-print") is None:
        pytest.skip("otf2-print (otf2-tools) is not installed")
    # In a communicator whose rank 0 is rank 1.
    two_ranks(trace, [record("send", 2000, 3000, 8, 0, 5, ANOTHER)], [record("recv", 2000, 3000, 8, 1, 5, ANOTHER)])
    anchor = archive_of(trace)
    done = run("otf2-print", anchor, check=True)
    assert done.stderr == ""
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for event in ("MPI_SEND 0 2000 Receiver: 0", "MPI_RECV 1 2000 Sender: 1"):
        assert any(line.startswith(event) and "Tag: 5, Length: 8" in line for line in lines), (event, done.stdout)
    assert sum(line.startswith(("ENTER", "LEAVE")) for line in lines) == 12


def test_what_cannot_be_written_is_said(tmp_path: Path, trace: Path) -> None:
    two_ranks(trace, [], [])
    anchor = archive_of(trace)
    for arguments, words in (
        ((trace, tmp_path / "x"), "an OTF2 archive is named NAME.otf2"),
        ((trace, anchor), "it is there already"),
        ((tmp_path, tmp_path / "y.otf2"), "no file rank."),
        ((trace, Path("/proc/none/x.otf2")), "cannot write /proc/none/x.otf2"),
    ):
        assert words in refusal(model("otf2", *arguments))


def refused(anchor: Path) -> str:
    said = refusal(model("predict", anchor, "--params", "myrinet"))
    assert said.startswith("ompl-model: "), said
    return said


def copy(anchor: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(anchor.parent, to)
    return to / anchor.name


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    [(_, programs, world)] = ending([1])
    return archive_of(trace_of(tmp_path / "trace", programs, world))


def test_missing_and_truncated_files(tmp_path: Path, archive: Path) -> None:
    assert "no OTF2 archive" in refused(tmp_path / "none.otf2")
    inside = sorted(path.relative_to(archive.parent) for path in archive.parent.rglob("*") if path.is_file())
    assert len(inside) >= 6
    for path in inside:
        anchor = copy(archive, tmp_path / "copy")
        damaged = anchor.parent / path
        whole = damaged.read_bytes()
        damaged.unlink()
        refused(anchor)
        for length in (0, 1, len(whole) // 2):
            damaged.write_bytes(whole[:length])
            refused(anchor)


def test_damaged_archives_are_refused_or_replayed(tmp_path: Path, archive: Path) -> None:
    draw = random.Random(11)
    inside = sorted(path.relative_to(archive.parent) for path in archive.parent.rglob("*") if path.is_file())
    refused = 0
    for _ in range(200):
        anchor = copy(archive, tmp_path / "copy")
        damaged = anchor.parent / draw.choice(inside)
        data = bytearray(damaged.read_bytes())
        for _ in range(draw.choice([1, 1, 4])):
            data[draw.randrange(len(data))] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        damaged.write_bytes(data)
        done = model("predict", anchor, "--params", "myrinet", "--no-sensitivity")
        assert done.returncode in (0, 1), done
        if done.returncode == 1:
            refused += 1
            assert done.stderr.startswith("ompl-model: "), done.stderr
            assert done.stderr.count("\n") == 1 or "stand still for ever" in done.stderr, done.stderr
        else:
            assert json.loads(done.stdout)["predicted_seconds"] >= 0
    assert 50 < refused < 200

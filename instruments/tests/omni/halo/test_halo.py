# SPDX-License-Identifier: BSD-3-Clause
"""omni halo: patterns, rounds with a hostile mock, and the command as a user types it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import unframed
from omnipgas_tools.halo import rounds as halo_rounds
from omnipgas_tools.halo.pattern import PatternError, read, ring
from omnipgas_tools.measure import results
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.report import performance
from omnipgas_tools.targets.halo import exchange
from omnipgas_tools.targets.measurement import Bench
from omnipgas_tools.targets.target import Target

from ..common import (
    MOCK,
    Log,
    build_tree,
    built,
    children,
    interrupted,
    mock,
    need_hosts,
    omni,
    refused,
    result,
)

FAST = Limits(rounds=4, min_rounds=4, tolerance=0.0, seconds=0.001, timeout=2)


@pytest.fixture
def mocks(tmp_path: Path) -> Path:
    """A build tree whose layer is the hostile mock, and which has no MPI."""
    mark = str(tmp_path / "hangs")
    launch = [sys.executable, str(MOCK), "hang", "--fail-op", "acked", "--nth", "5", "--mark", mark]
    lines = ["[ompl]", 'title = "mock"', "ops = []", 'worker = "ompl_bench_ompl"', f"launch = {json.dumps(launch)}"]
    lines += ["[absent]", 'title = "MPI"', "ops = []", 'worker = "ompl_bench_absent"', "launch = []"]
    lines += ['compiler = "no-mpicxx"', 'launcher = "no-mpiexec"', 'get = "buy one"']
    return build_tree(tmp_path, ["ompl_bench_raw", "ompl_halo_ompl"], lines)


# ---- patterns


@pytest.mark.parametrize(("ranks", "neighbors"), [(2, 1), (3, 2), (4, 1), (4, 3), (5, 4), (18, 17), (18, 4), (18, 5)])
def test_on_a_ring_all_have_as_many_neighbours_and_each_knows_the_other(ranks: int, neighbors: int) -> None:
    pattern = ring(ranks, neighbors, 80, 80)
    assert [len(mine) for mine in pattern.neighbors] == [neighbors] * ranks
    for rank, mine in enumerate(pattern.neighbors):
        assert rank not in [other for other, *_ in mine]
        for other, sent, heard in mine:
            assert (rank, heard, sent) in pattern.neighbors[other]
    assert (pattern.most_neighbors, pattern.most_sent, pattern.sizes) == (neighbors, 80 * neighbors, (80, 80))


def test_sizes_fall_with_the_distance() -> None:
    pattern = ring(18, 17, 64, 6000)
    sizes = [pattern.messages[0, distance] for distance in range(1, 10)]
    assert (sizes[0], sizes[-1]) == (6000, 64)
    steps = [a / b for a, b in pairwise(sizes)]
    assert max(steps) / min(steps) < 1.02
    assert pattern.messages[0, 17] == pattern.messages[17, 0] == 6000


def test_a_pattern_from_a_file_goes_one_way_where_it_says_so(tmp_path: Path) -> None:
    file = tmp_path / "pattern"
    file.write_text("# three ranks\n0 1 100\n\n1 2 7  # odd\n2 2 5\n")
    pattern = read(file)
    assert pattern.ranks == 3
    assert pattern.neighbors == [[(1, 100, 0)], [(0, 0, 100), (2, 7, 0)], [(1, 0, 7), (2, 5, 5)]]
    assert len(read(file, 5).neighbors) == 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("0 1", ":1: '0 1' is not"), ("0 1 8\n0 1 9", ":2: rank 0 sends to 1 twice"), ("0 1 0", "at least one byte"),
     ("0 -1 8", "is not"), ("0 7 8", "no rank 7 of 4"), ("# none", "names no message")],
)  # fmt: skip
def test_what_is_no_pattern_is_named_by_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "pattern"
    file.write_text(text)
    with pytest.raises(PatternError, match=complaint):
        read(file, 4)


# ---- rounds


def measured(mode: str, *options: str, ranks: int = 2, limits: Limits = FAST) -> halo_rounds.Outcome:
    found = replace(mock(mode), ranks=ranks)
    launch = [*found.library.launch, "--ranks", "{ranks}", *options]
    found = replace(found, library=replace(found.library, launch=launch))
    strategies = ["double-buffer", "single", "mpi"]
    return halo_rounds.measure(found, ring(ranks, ranks - 1, 64, 64), strategies, limits, 1, Progress())


def test_the_slowest_rank_counts_and_ratios_are_within_rounds() -> None:
    out = measured("good", ranks=3)
    assert [timing.status for timing in out.timings] == ["ok"] * 3
    assert out.rounds("single") == pytest.approx([3 * len("single")] * 4)
    rows = {row["op"]: row for row in halo_rounds.rows(out, "mpi")}
    found = rows["double-buffer"]["halo"]
    assert found["exchange_us"]["median"] == pytest.approx(3 * len("double-buffer"))
    assert found["of_base"]["median"] == pytest.approx(len("double-buffer") / len("mpi"))
    assert (found["carried_by"], found["exchange_us"]["rounds"]) == ("double-buffer", 4)
    assert rows["mpi"]["ranks"] == 3
    assert not children()


@pytest.mark.parametrize(("mode", "status"), [("hang", "hung"), ("crash", "crashed"), ("corrupt", "corrupt")])
def test_a_strategy_that_fails_within_a_round_is_reported_and_the_others_go_on(mode: str, status: str) -> None:
    # Created, verified, tried; so the fifth time is the second round.
    out = measured(mode, "--fail-op", "single", "--nth", "5")
    assert {timing.strategy: timing.status for timing in out.timings} == {
        "double-buffer": "ok", "single": status, "mpi": "ok",
    }  # fmt: skip
    assert [len(out.rounds(name)) for name in ("double-buffer", "single", "mpi")] == [4, 0, 4]
    row = next(row for row in halo_rounds.rows(out, "single") if row["op"] == "mpi")
    assert row["halo"]["of_base"] is None
    assert not children()


def test_a_strategy_that_cannot_be_had_is_skipped_with_the_reason() -> None:
    out = measured("refuse", "--fail-op", "mpi")
    assert [(t.status, t.reason) for t in out.timings] == [("ok", ""), ("ok", ""), ("skipped", "not today")]


def test_ranks_that_never_start_are_an_error_of_all() -> None:
    out = measured("crash", "--nth", "x")
    assert [timing.status for timing in out.timings] == ["crashed"] * 3
    assert "invalid int" in out.timings[0].reason


def test_ctrl_c_keeps_what_was_measured() -> None:
    out = halo_rounds.measure(mock("good"), ring(2, 1, 64, 64), ["single", "acked"], FAST, 1, Log("round 3"))
    assert out.interrupted
    assert {len(timing.rounds) for timing in out.timings} == {2}
    assert not children()


# ---- targets


def compared(build: Path, **bounds: float | None) -> list[Target]:
    others = {name.replace("_", "-"): bound for name, bound in bounds.items()}
    how = Limits(rounds=30, min_rounds=30, tolerance=0.0, seconds=0.001, timeout=2)
    bench = Bench(build, Progress())
    found = exchange("ompl", "here", ring(2, 1, 64, 64), others, how).answers(bench)
    assert {row["op"] for row in bench.rows} in ({"double-buffer", *others}, set())
    return found


def test_a_target_without_a_bound_is_reported_and_one_that_failed_is_missed(mocks: Path) -> None:
    whole, missed, free, failed = compared(mocks, single=3.0, mpi=1.0, mpi_put=None, acked=None)
    assert whole.value == pytest.approx(len("double-buffer") / len("single"))
    assert (whole.met, missed.met) == (True, False)
    assert missed.line().split("(ompl)")[1].split()[-3:] == ["<=", "1", "missed"]
    assert free.line().split("(ompl)")[1].split()[-2:] == ["no", "bound"]
    assert failed.value is None and not failed.met and "no answer within 2 s" in failed.note
    bench = Bench(mocks, Progress())
    (none,) = exchange("absent", "here", ring(2, 1, 8, 8), {"mpi": 0.5}, FAST).answers(bench)
    assert none.value is None and "buy one" in none.note
    page = performance.overview({"halo": {"machine": results.machine(), "figures": as_published([whole, free])}})
    assert "1 of 1 bounds met" in page
    assert "at most" not in performance.figure_line(as_published([free])[0])


def as_published(measured: Sequence[Target]) -> list[dict[str, Any]]:
    return [asdict(one) | {"met": one.met} for one in measured]


# ---- the command


def test_without_an_mpi_the_rest_is_measured(mocks: Path) -> None:
    content, done = result("halo", "--strategies", "single,mpi", "--repetitions", "3", build=mocks)
    assert {row["op"]: row["status"] for row in content["results"]} == {"single": "ok", "mpi": "skipped"}
    assert "mpi skipped: no MPI is here; absent: no-mpiexec does not exist: buy one" in " ".join(done.stderr.split())
    assert omni("halo", "--strategies", "mpi", "--mpi", "absent", build=mocks).returncode == 2


def test_an_interrupt_ends_the_ranks_and_writes_what_was_measured(mocks: Path, tmp_path: Path) -> None:
    content = interrupted(mocks, tmp_path / "out.json", "halo", "--strategies", "single,acked")
    assert [row["op"] for row in content["results"]] == ["single", "acked"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--strategies", "single,psychic"], "'psychic' is none of double-buffer, single"),
        (["--strategies", ","], "name at least one strategy"),
        (["--base", "mpi-put"], "'mpi-put' is none of the --strategies"),
        (["--neighbors", "2"], "of 2 ranks each has 1 to 1 neighbours, not 2"),
        (["--ranks", "5", "--neighbors", "3"], "one of the numbers must be even"),
        (["--ranks", "1"], "each has 1 to 0 neighbours"),
        (["--bytes", "0"], "'0' is no number of bytes"),
        (["--bytes", "8:9"], "give one size"),
        (["--mpi", "ompl"], "'ompl' is none of absent"),
        (["--conduit", "pigeon"], "'pigeon' is none of shm, tcp, ofi, ucx, mpi"),
        (["--pattern", "/nowhere"], "/nowhere cannot be read: No such file"),
        (["--rate", "5"], "it limits the links between hosts: give --hosts 2 with it"),
        (["--hosts", "3"], "3 hosts need as many ranks: give --ranks 3"),
        (["--hosts", "2", "--conduit", "shm"], "'shm' is none of tcp, ofi, ucx"),
    ],
)
def test_unusable_options_are_named(mocks: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in refused(mocks, "halo", *arguments)


def test_the_strategies_of_the_layer(tmp_path: Path) -> None:
    built("ompl", "halo")
    pattern = tmp_path / "pattern"
    pattern.write_text("0 1 4097\n1 2 1\n2 0 64\n1 1 9\n")
    for shape in (["--ranks", "2"], ["--pattern", str(pattern), "--conduit", "shm"]):
        content, _ = result("halo", "--strategies", "double-buffer,single,acked,auto", "--base", "acked", *shape,
                            "--repetitions", "2", "--seconds", "0.001", "--plot", str(tmp_path / "p.png"))  # fmt: skip
        rows = {row["op"]: row for row in content["results"]}
        assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(
            ("double-buffer", "single", "acked", "auto"), "ok"
        )
        assert rows["auto"]["halo"]["carried_by"] in ("double-buffer", "single", "acked")
        assert all(row["halo"]["of_base"]["rounds"] == 2 for row in rows.values())
        assert (tmp_path / "p.png").stat().st_size > 0


def test_exchanges_between_hosts() -> None:
    built("ompl", "halo")
    need_hosts()
    content, done = result("halo", "--hosts", "2", "--rate", "100", "--ranks", "4", "--bytes", "4096", "--strategies",
                           "double-buffer,single", "--repetitions", "2", "--seconds", "0.001")  # fmt: skip
    assert "of 4 ranks (ompl sockets) on 2 hosts, 100 Mbit/s, 1 neighbour" in unframed(done.stderr)
    assert [(row["status"], row["transport"]) for row in content["results"]] == [("ok", "network")] * 2
    assert "netns" in str(content["command"]["libraries"])

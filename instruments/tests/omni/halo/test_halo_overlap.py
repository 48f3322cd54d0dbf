# SPDX-License-Identifier: BSD-3-Clause
"""Halo exchange behind computation: sums by hand, rounds with a hostile mock, and real products between two hosts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from omnipgas_tools.halo import overlap as halo_overlap
from omnipgas_tools.halo.overlap import Job, Way, hidden, planes_for
from omnipgas_tools.libraries.catalog import Hosts
from omnipgas_tools.measure import network
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.worker import Worker, WorkerError
from omnipgas_tools.targets import halo_overlap as halo_overlap_targets
from omnipgas_tools.targets.halo_overlap import BY_MPI, EQUAL, LONGER, MINE, SHORTER, WAYS, over_link
from omnipgas_tools.targets.measurement import Bench
from omnipgas_tools.targets.target import Target

from ..common import MOCK, build_tree, built, children, need_hosts

ROUNDS = 30
HOW = Limits(rounds=ROUNDS, min_rounds=ROUNDS, tolerance=0.0, seconds=0.001, timeout=5)
HERE = Hosts(launch=("env",), enter=(), interface="lo", hub_interface="lo")
RATE, SIDE = 100, 40


def test_hidden_is_what_both_save_of_the_shorter() -> None:
    assert [hidden(2, 3, both) for both in (3, 4, 5, 6)] == [1, 0.5, 0, -0.5]
    assert hidden(8, 2, 9) == 0.5


def test_planes_are_as_many_as_the_computation_shall_take() -> None:
    assert planes_for(1, 26, 2) == 14  # the ends are two thirds shorter
    assert planes_for(2, 26, 2) == 27
    assert planes_for(0.5, 1, 10) == halo_overlap.FEWEST_PLANES
    assert planes_for(2, 1, 1e-9) == halo_overlap.MOST_PLANES


# ---- targets, of the mock


def compared(monkeypatch: pytest.MonkeyPatch, build: Path, *options: str, how: Limits = HOW) -> list[Target]:
    @contextmanager
    def no_hosts(rate: int) -> Iterator[Hosts]:
        assert rate == RATE
        yield HERE

    monkeypatch.setattr(network, "two_hosts", no_hosts)
    launch = [sys.executable, str(MOCK), *(options or ["good"])]
    lines = ["[ompl]", 'title = "mock"', "ops = []", 'worker = "ompl_bench_ompl"', f"launch = {launch}"]
    bench = Bench(build_tree(build, ["ompl_product_ompl"], lines), Progress())
    targets = over_link("ompl", RATE, SIDE, how).answers(bench)
    assert len({target.name for target in targets}) == len(targets) == sum(map(len, halo_overlap_targets.WAYS.values()))
    assert all(row["bytes"] == SIDE**2 * 8 and len(row["compute_s"]) == ROUNDS for row in bench.rows)
    assert not children()
    return targets


def of(targets: list[Target], factor: float, way: Way) -> Target:
    wanted = halo_overlap_targets.target("ompl", RATE, SIDE, factor, way).name
    (found,) = (one for one in targets if one.name == wanted)
    return found


def test_the_target_of_double_buffering_has_a_bound_and_the_others_stand_beside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    targets = compared(monkeypatch, tmp_path)
    for factor in (SHORTER, EQUAL, LONGER):
        mine, other = of(targets, factor, MINE), of(targets, factor, BY_MPI)
        assert mine.value == pytest.approx(1) and mine.met and (mine.bound, mine.at_most) == (0.8, False)
        assert other.bound is None and other.value == pytest.approx(1)
    alone = of(targets, EQUAL, Way("double-buffer", False))
    assert alone.value == pytest.approx(0, abs=1e-9) and alone.bound is None
    assert [of(targets, factor, MINE).note.split("; ")[1] for factor in WAYS] == ["7 planes", "14 planes", "27 planes"]


def test_a_missed_bound_is_missed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(halo_overlap_targets, "WAYS", {EQUAL: (MINE, Way("double-buffer", False))})
    monkeypatch.setattr(halo_overlap_targets, "MINE", Way("double-buffer", False))
    targets = compared(monkeypatch, tmp_path)
    assert [target.met for target in targets] == [True, False]
    assert "missed" in targets[1].line()


def test_what_is_refused_or_breaks_is_missing_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    targets = compared(monkeypatch, tmp_path, "refuse", "--fail-op", "mpi")
    refused = of(targets, EQUAL, BY_MPI)
    assert (refused.value, refused.note, refused.met) == (None, "not today", False)
    assert of(targets, EQUAL, MINE).met
    # The second factor's first turn with `single`, which the others lack.
    targets = compared(monkeypatch, tmp_path, "hang", "--fail-op", "single", how=replace(HOW, timeout=1))
    assert of(targets, SHORTER, MINE).met
    for way in WAYS[EQUAL]:
        assert "no answer within 1 s" in of(targets, EQUAL, way).note
    assert of(targets, LONGER, MINE).value is None


def test_few_rounds_are_no_claim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROUNDS", 3)
    targets = compared(monkeypatch, tmp_path, how=replace(HOW, rounds=3))
    assert {target.note for target in targets} == {"3 rounds, 30 needed"}


# ---- real products


def test_products_are_right_whatever_carries_their_halo() -> None:
    found = built("ompl", "product")
    need_hosts()
    how = replace(HOW, rounds=2, timeout=60)
    ways = [Way("double-buffer"), Way("double-buffer", False), Way("single"), Way("acked"), Way("mpi")]
    with (
        network.two_hosts(RATE) as hosts,
        Worker(network.spread(found, hosts), 1, SIDE**2 * 8) as worker,
    ):
        assert worker.hello[0]["transport"] == "network"
        job = Job(worker, how, 1, Progress())
        exchange, plane = job.pace(SIDE, "double-buffer")
        assert exchange > 0 and plane > 0
        for planes in (1, 3):
            out = job.measure(SIDE, planes, ways)  # checks every row of every product
            assert len(out.compute) == 2
            assert {way: len(out.hidden(way)) for way in ways[:-1]} == dict.fromkeys(ways[:-1], 2)
            assert list(out.refused) == ["mpi"] and "MPI" in out.refused["mpi"]
        with pytest.raises(WorkerError, match="ended"):
            job.create("psychic-strategy")
            job.verify("psychic-strategy")

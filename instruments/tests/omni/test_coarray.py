# SPDX-License-Identifier: BSD-3-Clause
"""Coarrays: the adapter moves verified data, the statements of the figures are measured, and how they are judged."""

import pytest
from commands import BUILD
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure import runner
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.measure.runner import Contender
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.clients import coarray
from omnipgas_tools.targets.clients.coarray import MINE, RIVALS, Statement
from omnipgas_tools.targets.measurement import Bench
from omnipgas_tools.targets.target import at_most

from .common import built, children

SHORT = Limits(rounds=1, min_rounds=1, seconds=0.002, timeout=60)
PUT = Statement("put", 8)


@pytest.mark.parametrize("library", [MINE, RIVALS[0]])  # over MPICH 4.0 OpenCoarrays' data come after their event
def test_library_moves_verified_data(library: str) -> None:
    found = built(library)
    out = runner.run_interleaved("pingpong", [Contender(found, "put")], [1], [4, 4096, 1 << 20], SHORT)
    assert [c.reason for c in out.cells if c.status != "ok"] == []
    out = runner.run_interleaved("rate", [Contender(found, op) for op in ("put", "putonly")], [1], [8], SHORT)
    assert [c.reason for c in out.cells if c.status != "ok"] == []
    assert not children()


def test_several_threads_are_refused() -> None:
    out = runner.run_interleaved("pingpong", [Contender(built(MINE), "put")], [2], [8], SHORT)
    assert "one thread only" in out.cells[0].reason


def test_all_statements_are_measured() -> None:
    found = built(MINE, catalog.COARRAY)
    times: coarray.Times = {}
    for part in coarray.PARTS:
        times |= coarray.run(found, part)
    assert set(times) == {statement for _, statement in coarray.declared()}
    assert all(ns > 0 for ns in times.values())
    assert list(coarray.run(found, "allocate")) == [Statement("allocate", 800)]


def test_the_better_rival_counts() -> None:
    def rounds(ns: float) -> list[coarray.Times]:
        return [{PUT: ns}] * coarray.ROUNDS

    target = at_most("t", 0.5)
    times = {MINE: rounds(20), RIVALS[0]: rounds(100), RIVALS[1]: rounds(50)}
    found = coarray.compared(target, PUT, times)
    assert (found.value, found.met) == (0.4, True)
    assert found.note.startswith(RIVALS[1])
    assert "apt-get install" in coarray.compared(target, PUT, {MINE: rounds(20)}).note


def test_a_rival_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = RIVALS[0]

    def run(found: str, _part: str) -> coarray.Times:
        if found == fails:
            raise OSError("it crashed")
        return {PUT: 1.0}

    monkeypatch.setattr(coarray, "run", run)
    bench = Bench(BUILD, Progress())
    times = coarray.in_rounds(bench, {name: name for name in (MINE, *RIVALS)}, "events")  # type: ignore[misc]
    assert {name: len(found) for name, found in times.items()} == {MINE: coarray.ROUNDS, RIVALS[1]: coarray.ROUNDS}
    fails = MINE
    with pytest.raises(OSError, match="crashed"):
        coarray.in_rounds(bench, {MINE: MINE}, "events")  # type: ignore[dict-item]


def test_bounds_are_those_of_short_and_of_long_data() -> None:
    bounds = {target.name: target.bound for target in targets.declared("coarray")}
    assert bounds["coarrays: get of 4096 B, shm, of the better OpenCoarrays"] == 0.5
    assert bounds["coarrays: get of 65536 B, shm, of the better OpenCoarrays"] == 1.0
    assert not any("strided" in name and " 8 B" in name for name in bounds)


def test_a_library_that_is_not_built_is_named() -> None:
    with pytest.raises(MissingError, match="is not built"):
        catalog.find(catalog.table(BUILD)[MINE], BUILD, "nonsense")

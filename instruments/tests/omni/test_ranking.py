# SPDX-License-Identifier: BSD-3-Clause
"""Libraries ranked with ties, two runs against each other, this layer against all: on made results and real ones."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results, runner
from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.report import ranking
from omnipgas_tools.report.ranking import Contradiction, Place
from omnipgas_tools.targets import comparison as comparison_targets
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.measurement import Bench

from .common import MOCK, build_tree, built, omni

AT_8 = Place("pingpong", "put", 1, "up to 4 KiB")


def row(library: str, low: float, high: float, size: int = 8, bench: str = "pingpong", threads: int = 1) -> Result:
    """A made result with that interval."""
    middle = (low + high) / 2
    interval = {"median": middle, "low": low, "high": high, "rounds": 30}
    figure: Result = {"rate_Mps": middle}
    if bench == "pingpong":
        names = ("p50", "p90", "p99", "mean", "min", "max", "fastest_thread_mean", "slowest_thread_mean")
        figure = {"bandwidth_MBps": threads * size / middle, "latency_us": dict.fromkeys(names, middle) | {"count": 9}}
    return results.empty(bench, library, "put", threads, size) | {"interval": interval} | figure


def test_those_whose_intervals_overlap_share_a_rank() -> None:
    rows = [row("slow", 5, 6), row("first", 1, 2), row("tied", 1.5, 3), row("raw", 0.1, 0.2), row("x processes", 1, 1)]
    assert ranking.ranked(ranking.comparable(rows)[AT_8]) == [(1, "first"), (1, "tied"), (3, "slow")]


def test_a_higher_rate_is_better() -> None:
    rows = [row("slow", 5, 6, bench="rate"), row("fast", 7, 8, bench="rate")]
    (place,) = ranking.comparable(rows)
    assert (place.bench, ranking.ranked(ranking.comparable(rows)[place])) == ("rate", [(1, "fast"), (2, "slow")])


def test_libraries_that_cross_within_a_class_are_tied() -> None:
    crossing = [row("a", 1, 2), row("b", 3, 4), row("a", 5, 6, size=4096), row("b", 3, 4, size=4096)]
    assert ranking.ranked(ranking.comparable(crossing)[AT_8]) == [(1, "a"), (1, "b")]
    apart = [*crossing[:2], row("a", 5, 6, size=1 << 20), row("b", 3, 4, size=1 << 20)]
    found = ranking.comparable(apart)
    assert [ranking.ranked(found[place])[0][1] for place in sorted(found)] == ["b", "a"]  # from 64 KiB, up to 4 KiB


def test_only_what_both_runs_rank_can_contradict() -> None:
    first = [row("a", 1, 2), row("b", 3, 4), row("c", 3.5, 9), row("only here", 1, 1)]
    turned = [row("a", 5, 6), row("b", 3, 4), row("c", 4, 9)]
    found, both = ranking.contradictions(first, turned)
    assert (found, both) == ([Contradiction(AT_8, "a", "b")], 1)  # a and c: ranked, then tied
    assert ranking.contradictions(first, first) == ([], 4)


def test_the_command_names_what_contradicts(tmp_path: Path) -> None:
    machine = {"cpu": "made", "cores": 2, "kernel": "", "system": ""}
    runs = []
    for name, middle in (("first", 1.0), ("second", 9.0)):
        runs.append(str(tmp_path / f"{name}.json"))
        said = {"version": "1", "transport": "made"}
        rows = [row("a", middle, middle + 1) | said, row("b", 4, 5) | said]
        command = {"interrupted": False, "libraries": {}}
        Path(runs[-1]).write_text(json.dumps(results.document(machine, command, rows)))
    alone, same, apart = omni("rank", runs[0]), omni("rank", runs[0], runs[0]), omni("rank", *runs)
    assert (alone.returncode, same.returncode, apart.returncode) == (0, 0, 1)
    assert "1. a, 2. b" in alone.stdout and "0 of 1 pairs" in same.stdout
    assert "has a before b" in " ".join(apart.stdout.split()) and "1 of 1 pairs" in apart.stdout


def target_of(rows: list[Result], part: str) -> tuple[float | None, bool]:
    """Value and verdict of the one target with that in its name."""
    (target,) = [one for one in comparison_targets.against_all(rows) if part in one.name]
    return target.value, target.met


def test_this_layer_against_all() -> None:
    tied = [row("ompl", 2, 4), row("b", 1, 3), row("raw", 0.1, 0.1)]
    assert target_of(tied, "up to 4 KiB") == (0, True)
    assert target_of([*tied, row("c", 1, 1.9)], "up to 4 KiB") == (1, False)
    assert target_of([*tied, row("ompl-mpich", 0.5, 0.6)], "up to 4 KiB") == (0, True)  # this layer too
    share, near = target_of([row("b", 1, 1), row("ompl", 1.04, 1.04, 65536), row("b", 1, 1, 65536)], "bandwidth")
    assert share == pytest.approx(1 / 1.04) and near
    assert target_of([row("ompl", 2, 2, 65536), row("b", 1, 1, 65536)], "bandwidth") == (0.5, False)
    in_turn = row("b", 1, 1, 65536) | {"bandwidth_MBps": 1e9}  # the sum over its threads
    assert target_of([row("ompl", 1, 1, 65536), in_turn], "bandwidth") == (1, True)
    rates = [row("ompl", 5, 6, bench="rate"), row("b", 7, 8, bench="rate")]
    assert target_of(rates, "rate") == (1, False)
    assert target_of([row("b", 1, 2)], "up to 4 KiB") == (None, False)


def test_targets_are_read_from_the_runs_that_are_given() -> None:
    run = {"name": "run", "machine": {"cpu": "there"}, "results": [row("ompl", 1, 2)]}
    bench = Bench(catalog.build_dir(), Progress(), [run])
    found = list(targets.measure(bench, ["comparison", "ranking"]))
    assert [one.value for one in found] == [None] * 3
    assert bench.groups["comparison"]["machine"] == {"cpu": "there"}
    assert bench.groups["comparison"]["given"] == ["run"] and not bench.groups["comparison"]["results"]
    assert "--beside" in found[-1].note


def test_without_files_quick_runs_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = json.dumps([sys.executable, str(MOCK), "good"])
    rows = [
        f'[{n}]\ntitle = "{n}"\nops = ["put"]\nworker = "worker"\nlaunch = {launch}\n' for n in ("ompl", "b", "raw")
    ]
    build_tree(tmp_path, ["worker"], rows)
    monkeypatch.setattr(comparison_targets, "THREADS", (1, 2))
    monkeypatch.setattr(comparison_targets, "SIZES", {"pingpong": (8, 65536), "rate": (8,)})
    monkeypatch.setattr(runner, "QUICK", replace(runner.QUICK, rounds=2, min_rounds=2))
    bench = Bench(tmp_path, Progress())
    found = list(targets.measure(bench, ["comparison", "ranking"]))
    assert [one.value for one in found] == [0, 1, 0, 1, 0, 0, None]  # the mocks are equally fast: all are tied
    assert all(one.met for one in found[:-1]) and not found[-1].met
    assert len(bench.quick) == 2  # ranking takes comparison's run for its first
    measured = {(row["bench"], row["library"]) for row in bench.quick[0]}
    assert measured == {(what, name) for what in ("pingpong", "rate") for name in ("ompl", "b")}


@pytest.mark.long
def test_small_real_runs_are_ranked(tmp_path: Path) -> None:
    built("ompl")
    runs = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in runs:
        done = omni("pingpong", "--libs", "ompl,ucx-workers", "--op", "put", "--threads", "1", "--sizes", "8,1048576",
                    "--repeat", "5", "--json", str(path), check=True)  # fmt: skip
    content = [json.loads(path.read_text())["results"] for path in runs]
    measured = {r["library"] for r in content[0] if r["status"] == "ok"}
    found = ranking.comparable(content[0])
    assert [(place.threads, place.sizes) for place in found] == [(1, "up to 4 KiB"), (1, "from 64 KiB")]
    for libraries in found.values():
        order = ranking.ranked(libraries)
        assert order[0][0] == 1 and {name for _, name in order} == measured
    turned, both = ranking.contradictions(*content)
    done = omni("rank", *map(str, runs))
    assert f"{len(turned)} of {both} pairs" in done.stdout
    assert done.returncode == int(bool(turned) or not both)

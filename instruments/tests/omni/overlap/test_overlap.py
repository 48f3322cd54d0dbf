# SPDX-License-Identifier: BSD-3-Clause
"""omni overlap: the paper's formulas, rounds with a hostile mock, and the command as a user types it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from commands import unframed
from omnipgas_tools.commands.overlap import show
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Limits, Progress
from omnipgas_tools.overlap import plan as overlap_plan
from omnipgas_tools.overlap import plots as overlap_plots
from omnipgas_tools.overlap import rounds as overlap_rounds
from omnipgas_tools.overlap import rows as overlap_rows
from omnipgas_tools.overlap.plan import (
    DEFAULT,
    IDLE,
    LOCKED_QUEUE,
    NODE,
    NONE,
    SHARED,
    SPARE,
    Cell,
    Family,
    Layout,
    PlanError,
    Series,
)
from omnipgas_tools.overlap.rounds import Journal, JournalError, Outcome, Record, Sample
from omnipgas_tools.targets import overlap as overlap_targets
from rich.console import Console

from ..common import MOCK, SCHEMA, Log, build_tree, children, mock, omni, refused, result

FAST = Limits(rounds=3, seconds=0.001, iterations=20, timeout=2)
MOCKED = Family(progress={"MOCK_PROGRESS": "1"})
SMALL, LARGE = Cell("allgather", 8), Cell("allgather", 16384)
NODES = Layout(2, 4, 1, (0, 1, 2, 3, 4, 5, 6, 7))


@pytest.fixture
def mocks(tmp_path: Path) -> Path:
    """A build tree of two libraries that are the mock: one has a progress thread, and one algorithm."""
    launch = json.dumps([sys.executable, str(MOCK), "good"])
    lines = [f'[{name}]\ntitle = "{name}"\nops = []\nworker = "ompl_bench_{name}"\nfamily = "{name}"\nlaunch = {launch}'
             for name in ("a", "b")]  # fmt: skip
    build_tree(tmp_path, ["ompl_bench_raw", "ompl_overlap_a", "ompl_overlap_b"], lines)
    family = '[a]\nprogress = { MOCK_PROGRESS = "1" }\n[a.allgather]\nvariable = "MOCK"\nring = "1"\n[b]\n'
    (tmp_path / "bench" / "collectives.toml").write_text(family)
    return tmp_path


# ---- the paper's formulas


def test_threads_of_the_papers_example() -> None:
    example = Layout(1, 8, 2, tuple(range(8)))  # figure 1
    assert (example.t_calc(SHARED), example.t_node(SHARED)) == (4, 10)
    assert (example.t_calc(SPARE), example.t_node(SPARE)) == (3, 8)
    assert (example.t_calc(LOCKED_QUEUE), example.t_node(LOCKED_QUEUE)) == (4, 10)
    assert [(example.t_calc(mode), example.t_node(mode)) for mode in (NONE, IDLE)] == [(4, 8)] * 2
    assert (example.t_calc(NODE), example.t_process(NODE), example.t_node(NODE)) == (4, 4, 9)
    assert example.emulation is None


@pytest.mark.parametrize(
    ("p_node", "size", "elements"),
    [(1, 1, 1_600_000), (1, 8192, 1_600_000), (1, 16384, 80_000_000), (4, 8192, 400_000), (4, 8193, 20_000_000)],
)
def test_elements_of_the_paper(p_node: int, size: int, elements: int) -> None:
    assert Layout(128, 16, p_node, tuple(range(16))).elements(size) == elements


def test_a_spare_core_is_the_last_of_the_process_and_computes_nothing() -> None:
    nodes = Layout(2, 4, 2, tuple(range(10, 18)))
    assert nodes.places(SPARE, 0) == {"cores": [10], "helpers": [11]}
    assert nodes.places(SPARE, 3) == {"cores": [16], "helpers": [17]}
    assert nodes.places(SHARED, 1) == {"cores": [12, 13], "helpers": [12, 13]}
    assert nodes.emulation == "2 nodes of 4 cores are cores of one machine"


def test_nodes_that_do_not_fit_share_the_cores_and_say_so() -> None:
    nodes = Layout(2, 2, 1, (0, 1))
    assert [nodes.places(SPARE, rank) for rank in (0, 1)] == [{"cores": [0], "helpers": [1]}] * 2
    assert [nodes.places(NONE, rank)["cores"] for rank in (0, 1)] == [[0, 1], [1, 0]]
    assert nodes.emulation == "2 nodes of 2 cores on a machine of 2, which share them in time"
    assert Layout(1, 4, 4, (0, 1)).emulation == "1 node of 4 cores on a machine of 2, which shares them in time"


def test_layouts_that_cannot_be() -> None:
    with pytest.raises(PlanError, match="4 cores of a node cannot be divided among 3"):
        Layout(1, 4, 3, (0, 1, 2, 3))
    with pytest.raises(PlanError, match="a spare core needs two cores for each process; n_cpu/p_node is 2/2"):
        Layout(2, 2, 2, (0, 1)).t_calc(SPARE)


@pytest.mark.parametrize(
    ("pure", "compute", "overall", "percent"),
    [(100, 1000, 1100, 0), (100, 1000, 1025, 75), (100, 1000, 1000, 100), (100, 1000, 1300, 0)],
)
def test_overlap_is_osus(pure: float, compute: float, overall: float, percent: float) -> None:
    assert overlap_rows.overlap_percent(pure, compute, overall) == percent


def test_settings_of_a_series() -> None:
    tables = overlap_plan.families(Path(__file__).parents[3])
    pinned = {one.env: one.value for one in tables["mpich"].settings(SPARE, "ring")}
    assert pinned["MPIR_CVAR_ASYNC_PROGRESS"] == "1"
    assert pinned["MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM"] == "sched_ring"
    assert pinned["MPIR_CVAR_COLLECTIVE_FALLBACK"] == "error"
    chosen = {one.env for one in tables["mpich"].settings(NONE, DEFAULT)}
    assert not chosen & {"MPIR_CVAR_ASYNC_PROGRESS", "MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM"}
    assert [tables["ompl"].settings(mode, DEFAULT)[0].value for mode in (SPARE, SHARED)] == [SPARE, SHARED]
    for mode in (IDLE, NODE):
        assert [one.value for one in tables["ompl"].settings(mode, DEFAULT)] == [mode]
    assert [one.value for one in tables["ompl"].settings(LOCKED_QUEUE, DEFAULT)] == [SHARED, LOCKED_QUEUE]
    with pytest.raises(catalog.MissingError, match="it has no mode locked-queue"):
        tables["mpich"].settings(LOCKED_QUEUE, DEFAULT)
    with pytest.raises(catalog.MissingError, match="no progress thread"):
        tables["openmpi"].settings(SHARED, DEFAULT)
    assert not tables["openmpi"].has("allgather", "ring")
    libraries = catalog.read_table(Path(__file__).parents[3] / "bench/peers.toml").values()
    assert {library.family for library in libraries} == {"", *tables}


# ---- rounds


def series(mode: str, *options: str, how: str = "good", layout: Layout = NODES) -> Series:
    found = mock(how, "mock")
    found = replace(found, library=replace(found.library, launch=[*found.library.launch, *options]))
    return overlap_plan.series(found, MOCKED, layout, mode, DEFAULT, ["allgather"])


def measured(
    *chosen: Series, cells: tuple[Cell, ...] = (SMALL, LARGE), journal: Path | None = None, rounds: int = 3
) -> Outcome:
    kept = Journal(journal, {"study": "test"})
    return overlap_rounds.measure(chosen, cells, replace(FAST, rounds=rounds), 1, Progress(), kept)


def test_what_rows_hold_of_times_that_are_known() -> None:
    rows = overlap_rows.rows(measured(*map(series, (NONE, SPARE, SHARED))))
    for row in rows:
        jsonschema.validate(row, {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/result"})
    none, spare, shared = (row for row in rows if row["size"] == 16384)
    # 20 million elements: 5 ms on four threads, 6.7 on three; a quarter more beside a progress thread.
    assert [row["t_calc"] for row in (none, spare, shared)] == [4, 3, 4]
    assert [row["elements"] for row in (none, spare, shared)] == [20_000_000] * 3
    assert [row["pure_us"] for row in (none, spare, shared)] == pytest.approx([30] * 3)
    assert [row["alone_us"] for row in (none, spare, shared)] == pytest.approx([5000, 20000 / 3, 5000])
    assert [row["compute_us"] for row in (none, spare, shared)] == pytest.approx([5000, 25000 / 3, 6250])
    assert [row["compute_slowdown"] for row in (none, spare, shared)] == pytest.approx([1, 1.25, 1.25])
    assert [row["init_us"] for row in (none, shared)] == pytest.approx([10, 10])
    assert [row["wait_us"] for row in (none, shared)] == pytest.approx([20, 1])
    assert [row["overall_us"] for row in (none, shared)] == pytest.approx([5030, 6261])
    assert [row["overlap_percent"] for row in (none, shared)] == pytest.approx([0, 100 - 11 / 30 * 100])
    assert [row["cores_charged"] for row in (none, shared)] == pytest.approx([1, 1.5])
    assert shared["overall_of_none"]["median"] == pytest.approx(6261 / 5030)
    assert (none["overall_of_none"]["median"], none["overall_of_none"]["rounds"]) == (1, 3)
    assert none["pure_p99_us"] == pytest.approx(0.101)
    assert (none["n_node"], none["n_cpu"], none["p_node"], none["t_node"], spare["t_node"]) == (2, 4, 1, 4, 4)
    assert not children()


def test_a_calibrated_computation_is_as_long_as_the_multiple_of_the_pure_time_of_mode_none() -> None:
    cells = tuple(replace(SMALL, computation=ratio) for ratio in ("0.5", "2"))
    rows = overlap_rows.rows(measured(*map(series, (SHARED, NONE)), cells=cells))
    found = {(row["mode"], row["computation"]): row for row in rows}
    assert found[NONE, "2"]["compute_us"] == pytest.approx(60)
    assert found[NONE, "0.5"]["compute_us"] == pytest.approx(15)
    assert found[SHARED, "2"]["elements"] == found[NONE, "2"]["elements"]
    assert found[SHARED, "2"]["compute_us"] == pytest.approx(75)


@pytest.mark.parametrize(("mode", "status"), [("hang", "hung"), ("crash", "crashed"), ("corrupt", "corrupt")])
def test_a_cell_that_fails_is_reported_once_and_the_others_go_on(mode: str, status: str) -> None:
    out = measured(series(NONE, "--fail-at", "16384", how=mode), rounds=2)
    small, large = overlap_rows.rows(out)
    assert (small["status"], small["rounds"]) == ("ok", 2)
    assert (large["status"], large.get("pure_us")) == (status, None)
    assert "allgather" in large["reason"]
    assert not children()


def test_a_calibrated_cell_whose_base_failed_is_skipped() -> None:
    cell = replace(LARGE, computation="1")
    out = measured(series(NONE, how="crash"), series(SHARED), cells=(cell,), rounds=1)
    none, shared = overlap_rows.rows(out)
    assert none["status"] == "crashed"
    assert shared["status"] == "skipped"
    assert shared["reason"] == f"its computation is that of mode none: {none['reason']}"


def test_ranks_that_never_start_are_not_tried_for_ever() -> None:
    out = measured(series(NONE, "--nth", "x"), cells=(SMALL, LARGE, replace(SMALL, size=9)))
    assert [row["status"] for row in overlap_rows.rows(out)] == ["crashed", "crashed", "skipped"]
    assert "not tried, after" in overlap_rows.rows(out)[2]["reason"]


def test_plots_are_those_of_the_papers_figures_and_the_sweep(tmp_path: Path) -> None:
    cells = (replace(SMALL, computation="0.5"), replace(SMALL, computation="1"))
    rows = overlap_rows.rows(measured(series(NONE), series(SHARED), cells=cells, rounds=1))
    made = {path.name for path in overlap_plots.draw(tmp_path, rows)}
    name = "mock-allgather-default-memory"
    assert {f"{name}-{length}-{kind}.svg" for length in ("0.5", "1") for kind in
            ("overlap_percent", "compute", "pure", "overall")} | {f"{name}-sweep.svg"} == made  # fmt: skip
    assert "nodes of 4 cores" in (tmp_path / f"{name}-sweep.svg").read_text()
    assert "allgather of mock" in (tmp_path / f"{name}-sweep.svg").read_text()
    assert "above 8192 B" in (tmp_path / f"{name}-1-pure.svg").read_text()


def test_a_table_ends_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = (8, 4096, 65536)
    ratios = {8: (1.1, 1.05, 1.2), 4096: (0.98, 0.9, 1.01), 65536: (0.8, 0.75, 0.9)}
    [row] = overlap_rows.rows(measured(series(NONE), cells=(SMALL,), rounds=1))
    rows = [row | {"size": size} for size in sizes]
    for size, (median, low, high) in ratios.items():
        whole = {"median": median, "low": low, "high": high, "rounds": 5}
        rows.append(row | {"size": size, "mode": SHARED, "overall_of_none": whole})
    [said] = overlap_rows.conclusions(rows)
    assert said == (
        "mock, shared: the whole is shorter than mode none at 64 KiB (0.80 of it); longer than mode none at 8 B"
        " (1.10 of it); not told apart from it at 1 of 3 sizes."
    )
    show(Console(width=250), rows)
    shown = capsys.readouterr().out
    assert said in shown and "0.8 [0.75, 0.9]" in shown


def recorded(name: str, mode: str, index: int, cell: Cell, **times: float) -> Record:
    """A job that took 10 us to communicate and 100 to compute, but for these times."""
    sample = {"pure_us": 10.0, "init_us": 1.0, "compute_us": 100.0, "wait_us": 1.0, "overall_us": 102.0} | times
    found = Sample(elements=7, **sample, cores_charged=1, pure=[], overall=[])
    alone = [(cell.kernel, 7, threads, 80.0) for threads in (1, 2)]
    return Record((name, 2, mode, DEFAULT), index, samples=[(cell, found)], alone=alone)


def test_the_best_mpi_is_that_of_the_lowest_median() -> None:
    kinds = [("ompl", 6.0), ("mpich", 10.0), ("openmpi", 8.0)]
    records = [recorded(name, NONE, index, SMALL, pure_us=us) for name, us in kinds for index in range(30)]
    chosen = [replace(series(NONE), found=mock("good", name), layout=Layout(1, 2, 2, (0, 1))) for name, _ in kinds]
    met, unmeasured = overlap_targets.pure(Outcome(chosen, [SMALL, LARGE], records), chosen[0].layout)
    assert (met.value, met.bound, met.met) == (0.75, 0.7, False)
    assert unmeasured.value is None and not unmeasured.met


def test_one_rank_computes_where_cores_are_few() -> None:
    layout = Layout(2, 2, 1, (0, 1), alone=True)
    assert layout.places(SPARE, 0) == {"cores": [0], "helpers": [1]}
    assert layout.places(SPARE, 1) == {"cores": [1], "helpers": [1]}
    out = measured(replace(series(NONE), layout=layout), replace(series(SPARE), layout=layout), cells=(LARGE,))
    none, spare = overlap_rows.rows(out)
    assert (none["status"], spare["status"], spare["elements"]) == ("ok", "ok", layout.elements(LARGE.size))
    assert "only rank 0 computes" in spare["emulation"]


def test_targets_of_modes_at_the_shortest_size() -> None:
    times = {NONE: 10.0, SHARED: 12.0, IDLE: 14.0, LOCKED_QUEUE: 90.0}
    records = [recorded("ompl", mode, index, SMALL, pure_us=us) for mode, us in times.items() for index in range(30)]
    shared, idle, locked = overlap_targets.switched_on(Outcome([], [SMALL], records), Layout(2, 2, 1, (0, 1)))
    assert shared.value == pytest.approx(1.2) and shared.met
    assert idle.value == pytest.approx(1.4) and not idle.met
    assert locked.value == pytest.approx(9) and locked.bound is None and locked.met
    nothing = overlap_targets.switched_on(Outcome([], [SMALL]), Layout(2, 2, 1, (0, 1)))
    assert [(one.value, one.met) for one in nothing] == [(None, False)] * 3


def test_targets_of_the_progress_thread() -> None:
    layout = Layout(2, 2, 1, (0, 1))
    records = []
    for index in range(30):
        records.append(recorded("ompl", NONE, index, LARGE))
        records.append(recorded("ompl", SPARE, index, LARGE, overall_us=100.5))
        records.append(recorded("ompl", SHARED, index, LARGE, overall_us=112.2))
    hidden, slowed = overlap_targets.hidden(Outcome([], [LARGE], records), layout)
    (whole,) = overlap_targets.subscribed(Outcome([], [LARGE], records), layout)
    assert hidden.value == pytest.approx(95) and hidden.met
    assert "share them in time" in hidden.note
    assert slowed.value == pytest.approx(1.25) and not slowed.met
    assert whole.value == pytest.approx(1.1) and not whole.met
    nothing = [judged(Outcome([], [LARGE]), layout) for judged in (overlap_targets.hidden, overlap_targets.subscribed)]
    assert [one.value for found in nothing for one in found] == [None] * 3


# ---- an interrupted study


def test_an_interrupted_study_goes_on_where_it_was(tmp_path: Path) -> None:
    kept = tmp_path / "study.jsonl"

    chosen = [series(NONE), series(SHARED)]
    out = overlap_rounds.measure(chosen, [SMALL], FAST, 1, Log("round 2"), Journal(kept, {"study": "test"}))
    assert out.interrupted and {one.round for one in out.records} == {0}
    assert not children()
    kept.write_text(kept.read_text() + '{"key": ["torn')
    log = Log()
    out = overlap_rounds.measure(chosen, [SMALL], FAST, 1, log, Journal(kept, {"study": "test"}))
    assert not out.interrupted and len(log.lines) == 4
    assert not any("round 1" in what for what in log.lines)
    again = overlap_rounds.measure(chosen, [SMALL], FAST, 1, log, Journal(kept, {"study": "test"}))
    assert len(log.lines) == 4
    assert overlap_rows.rows(again) == overlap_rows.rows(out)


def test_a_journal_of_another_study_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "study.jsonl"
    Journal(kept, {"study": "one", "cells": 1})
    with pytest.raises(JournalError, match=r"is of another study \(cells differ\)"):
        Journal(kept, {"study": "one", "cells": 2})
    kept.write_text("prose\n")
    with pytest.raises(JournalError, match="is no journal"):
        Journal(kept, {"study": "one"})
    assert kept.read_text() == "prose\n"


# ---- the command


def test_the_command_measures_what_it_can_and_says_what_it_cannot(mocks: Path) -> None:
    content, done = result("overlap", "--libs", "a,b", "--ranks", "2", "--cores", "2", "--sizes", "8", "--algorithms",
                "default,ring", "--repetitions", "1", "--seconds", "0.001", "--resume",
                str(mocks / "kept"), build=mocks)  # fmt: skip
    rows = content["results"]
    assert {(row["library"], row["algorithm"], row["mode"]) for row in rows if row["status"] == "ok"} == {
        *(("a", algorithm, mode) for algorithm in ("default", "ring") for mode in (NONE, SPARE, SHARED)),
        ("b", "default", NONE),
    }
    assert {row["size"] for row in rows} == {8, None}
    reasons = {
        (row["algorithm"], row["mode"]): row["reason"] for row in rows if row["library"] == "b" and row["reason"]
    }
    assert reasons["default", SPARE] == "it has no progress thread for its collectives"
    assert reasons["ring", NONE] == "its setting has no ring for them"
    said = " ".join(done.stderr.split())
    assert "b spare default, 2 ranks, allgather skipped: it has no progress thread" in said
    done = omni("overlap", "--libs", "a", "--resume", str(mocks / "kept"), build=mocks)
    assert done.returncode == 2
    assert "is of another study (series, cells, seconds differ)" in unframed(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--libs", "psm"], "'psm' is none of a, b"),
        (["--collectives", "gossip"], "'gossip' is none of allgather"),
        (["--modes", "telepathy"], "'telepathy' is none of none, spare, shared, idle, node, locked-queue"),
        (["--algorithms", "bogosort"], "'bogosort' is none of default, ring"),
        (["--sizes", "0"], "0 is below 1"),
        (["--sizes", "x"], "'x' is no list of numbers"),
        (["--ranks", "3"], "3 ranks cannot be divided among 2 nodes"),
        (["--cores", "2", "--ranks", "6"], "2 cores of a node cannot be divided among 3 processes"),
        (["--computation", "-1"], "'-1' is neither paper nor a number above 0"),
        (["--kernels", "abacus"], "'abacus' is none of memory, registers"),
    ],
)
def test_unusable_options_are_named(mocks: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in refused(mocks, "overlap", "--libs", "a", *arguments)

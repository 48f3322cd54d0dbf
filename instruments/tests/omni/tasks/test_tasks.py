# SPDX-License-Identifier: BSD-3-Clause
"""omni tasks: METG of made-up programs whose value is known, and of bounds where it is not."""

import json
import math
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from omnipgas_tools.libraries import catalog
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.clients import tasks
from omnipgas_tools.targets.target import at_most
from omnipgas_tools.tasks import bounds, plan
from omnipgas_tools.tasks.bounds import Bounds, Point, exactly
from omnipgas_tools.tasks.plan import Layout, Work

from ..common import omni

MADE_UP = Path(__file__).with_name("made_up.py")


def made_up(name: str, overhead: object) -> str:
    """For --own."""
    return f"{name}={sys.executable} {MADE_UP} {overhead} {{ranks}} {{threads}}"


def measured(tmp_path: Path, *arguments: str, own: dict[str, object], code: int = 0) -> tuple[dict[str, Any], str]:
    """The result file, by contender and layout, and what was shown."""
    out = tmp_path / "out.json"
    programs = [word for one in own.items() for word in ("--own", made_up(*one))]
    done = omni("tasks", "--contenders", "", *programs, "--repeat", "2", "--json", str(out), *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    content = json.loads(out.read_text())
    assert content["schema"] == "omnipgas-tasks-1"
    rows = {f"{r['contender']} {r['ranks']}x{r['threads']} {r['pattern']} {r['size']}": r for r in content["results"]}
    return rows, done.stdout + done.stderr


def test_the_smallest_efficient_granularity_is_twice_the_overhead(tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    rows, said = measured(
        tmp_path, "--layouts", "2x1,1x2", "--iterations", "16,32,64,128,256,512,1024,2048,4096", "--plot", str(plot),
        own={"slow": 3.0, "fast": 0.5},
    )  # fmt: skip
    for contender, overhead in (("slow", 3.0), ("fast", 0.5)):
        for layout in ("2x1", "1x2"):
            row = rows[f"{contender} {layout} stencil_1d 16"]
            metg = row["metg_us"]
            assert metg["low"] == metg["high"] == pytest.approx(2 * overhead, rel=0.05)
            assert row["metg_interval_us"]["low"] == pytest.approx(metg["low"])
            assert row["rounds"] == 2
            assert [len(run["rate"]) for run in row["runs"]] == [2] * 9
    assert said.index("fast") < said.index("slow")  # the best one first
    assert plot.stat().st_size > 1000


def test_what_lies_beyond_the_sizes_is_a_bound_and_no_value(tmp_path: Path) -> None:
    rows, said = measured(
        tmp_path, "--layouts", "2x1", "--iterations", "256,512", own={"below": 0.1, "above": 90.0}
    )  # fmt: skip
    below, above = (rows[f"{name} 2x1 stencil_1d 16"]["metg_us"] for name in ("below", "above"))
    assert below == {"low": 0, "high": pytest.approx(2.66)}  # 2.56 us of work
    assert above == {"low": pytest.approx(95.12), "high": None}
    assert "< 2.66" in said
    assert "> 95.1" in said


def test_all_that_is_swept_is_measured(tmp_path: Path) -> None:
    rows, _ = measured(
        tmp_path, "--layouts", "2x1,4x1", "--patterns", "stencil_1d,spread,fft", "--sizes", "16,1024", "--imbalance",
        "0.5", "--points", "2", "--iterations", "64,1024", own={"one": 1.0},
    )  # fmt: skip
    assert set(rows) == {
        f"one {layout} {pattern} {size}" for layout in ("2x1", "4x1") for pattern in ("stencil_1d", "spread", "fft")
        for size in (16, 1024)
    }  # fmt: skip
    assert all(row["imbalance"] == 0.5 and row["points_per_core"] == 2 for row in rows.values())


def test_a_contender_that_fails_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    rows, said = measured(
        tmp_path, "--layouts", "1x1", "--iterations", "64,128",
        own={"good": 1.0, "bad": "crash", "mute": "silent"},
    )  # fmt: skip
    assert {row["contender"]: row["status"] for row in rows.values()} == {
        "good": "ok", "bad": "crashed", "mute": "corrupt",
    }  # fmt: skip
    assert "about to fall over" in rows["bad 1x1 stencil_1d 16"]["reason"]
    assert "about to fall over" in " ".join(said.split())
    _, said = measured(tmp_path, "--layouts", "1x1", "--iterations", "64", own={"bad": "crash"}, code=1)
    assert "about to fall over" in " ".join(said.split())


def test_a_missing_source_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMPL_TASK_BENCH", raising=False)
    assert "--task-bench" in refusal(omni("tasks"))
    assert "core/core.h" in refusal(omni("tasks", "--task-bench", str(tmp_path)))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--layouts", "2"), "RANKSxTHREADS"),
        (("--layouts", "0x2"), "RANKSxTHREADS"),
        (("--own", "noname"), "NAME=COMMAND"),
        (("--own", "a=x {nodes}"), "braces"),
        (("--patterns", "star"), "star"),
        (("--imbalance", "3"), "between 0 and 2"),
        (("--sizes", "8"), "below 16"),
        (("--contenders", "legion"), "legion"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], why: str) -> None:
    done: subprocess.CompletedProcess[str] = omni("tasks", "--own", "x=true", "--contenders", "", *arguments)
    assert done.returncode == 2
    assert why in " ".join(done.stderr.replace("│", " ").split())


def test_bounds_of_medians_hold_whatever_the_values_are() -> None:
    order = random.Random(4)
    for _ in range(200):
        values = [order.uniform(0.5, 8) for _ in range(order.randrange(1, 9))]
        censored = [
            Bounds(0, 2.0) if value < 2 else Bounds(6.0, math.inf) if value > 6 else exactly(value)
            for value in values
        ]  # fmt: skip
        found = bounds.median(censored)
        assert found.low <= statistics.median(values) <= found.high
        spread = bounds.interval(censored)
        assert spread.low <= found.low
        assert spread.high >= found.high
    mixed = [Bounds(0, 2.0), exactly(3.0), exactly(4.0)]
    assert bounds.median(mixed) == exactly(3.0)
    assert bounds.median([Bounds(0, 2.0), Bounds(0, 2.5), exactly(4.0)]) == Bounds(0, 2.5)
    assert exactly(2.0).over(Bounds(4.0, math.inf)) == Bounds(0, 0.5)
    assert Bounds(0, 1.0).over(Bounds(0, 2.0)) == Bounds(0, math.inf)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (exactly(1.234), "1.23"), (Bounds(0, 2), "< 2"), (Bounds(3, math.inf), "> 3"), (Bounds(0, math.inf), "?"),
        (Bounds(1, 2), "1 to 2"),
    ],
)  # fmt: skip
def test_texts_of_bounds(value: Bounds, text: str) -> None:
    assert value.text() == text


def test_the_smallest_efficient_point() -> None:
    points = [Point(1.0, 0.25), Point(4.0, 0.75), Point(16.0, 0.9)]
    assert bounds.smallest_efficient(points, 0.5).low == pytest.approx(2.0)  # halfway on a logarithmic scale
    assert bounds.smallest_efficient(points, 0.2) == Bounds(0, 1.0)
    assert bounds.smallest_efficient(points, 0.95) == Bounds(16.0, math.inf)
    # A larger task that was disturbed does not hide a smaller one that was efficient.
    assert bounds.smallest_efficient([*points, Point(64.0, 0.1)], 0.5).low == pytest.approx(2.0)


@pytest.mark.parametrize("pattern", plan.PATTERNS)
def test_arguments_are_those_that_task_bench_takes(pattern: str) -> None:
    for cores, per_core in ((1, 1), (2, 1), (3, 2), (16, 1)):
        line = Work(pattern, cores, 16, 0.0, per_core).arguments(64, 0.02)
        given = dict(zip(line[::2], line[1::2], strict=True))
        width = int(given["-width"])
        assert width == cores * per_core
        assert plan.FEWEST_STEPS <= int(given["-steps"]) <= plan.MOST_STEPS
        if "-radix" in given:
            assert int(given["-radix"]) <= width
        if pattern == "spread":  # as its check of a graph has it
            assert 1 <= int(given["-period"]) <= -(-width // int(given["-radix"]))


def test_forms_and_layouts() -> None:
    assert plan.layouts("2x1, 1x2,2x1") == [Layout(2, 1), Layout(1, 2)]
    assert {layout.cores for layout in plan.layouts("")} == {catalog.cores()}
    assert plan.fits("mpi", Layout(1, 2))
    assert plan.fits("openmp", Layout(2, 1))
    assert not plan.fits("ompl", Layout(2, 2))


def test_the_figures_are_declared_for_both_forms_layouts_and_rivals() -> None:
    declared = targets.declared("tasks")
    assert len(declared) == 8
    assert {target.bound for target in declared} == {0.5, 1.0}
    assert all(target.at_most for target in declared)


@pytest.mark.parametrize(
    ("mine", "other", "value", "met"),
    [
        (exactly(1.0), exactly(4.0), 0.25, True),
        (exactly(3.0), exactly(4.0), 0.75, False),
        (Bounds(0, 1.0), exactly(4.0), 0.25, True),  # at most a quarter
        (exactly(1.0), Bounds(4.0, math.inf), 0.25, True),
        (Bounds(8.0, math.inf), exactly(4.0), 2.0, False),  # at least twice
        (Bounds(0, 3.0), exactly(4.0), None, False),  # may be either
        (Bounds(0, 1.0), Bounds(0, 1.0), None, False),
    ],
)  # fmt: skip
def test_a_figure_is_decided_by_what_is_known(mine: Bounds, other: Bounds, value: float | None, met: bool) -> None:
    target = tasks.judged(at_most("it", 0.5), [mine] * 31, [other] * 31, "beside it")
    assert target.value == value
    assert target.met == met
    assert ("not decided" in target.note) == (value is None)


def test_few_rounds_decide_no_figure() -> None:
    target = tasks.judged(at_most("it", 0.5), [exactly(1.0)] * 29, [exactly(4.0)] * 29, "")
    assert target.value is None
    assert "30 needed" in target.note

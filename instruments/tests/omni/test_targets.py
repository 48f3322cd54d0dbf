# SPDX-License-Identifier: BSD-3-Clause
"""The table of targets, and what the runner makes of a measurement."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.measure.runner import Cell, Outcome
from omnipgas_tools.measure.worker import Round
from omnipgas_tools.targets import checkout, targets
from omnipgas_tools.targets.calls import FirstOrTied
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, Ratio, RatioToBest, in_turn, output
from omnipgas_tools.targets.target import Target, at_least, at_most

from .common import contender

PUBLISHED = json.loads((CHECKOUT / "docs/results/figures.json").read_text())["groups"]
MEASURED_BOUNDS = ("slowest thread of the fastest", "worst error of what is allowed")


def unnamed(name: str) -> str:
    """Without the library that was the best one."""
    return re.sub(r"(of the best (?:MPI|library)[^(]*) \(.*\)$", r"\1", name)


def test_every_published_group_has_targets() -> None:
    assert list(PUBLISHED) == list(targets.GROUPS)


@pytest.mark.parametrize("group", targets.GROUPS)
def test_names_and_bounds_are_those_of_published_results(group: str) -> None:
    """Results are compared over time by these names."""
    declared = {(one.name, one.bound, one.at_most) for one in targets.declared(group)}
    assert len(declared) == len(targets.declared(group))
    for one in PUBLISHED[group]["figures"]:
        name, bound = unnamed(one["name"]), one["bound"]
        if name.endswith(MEASURED_BOUNDS):
            assert name in {known for known, _, _ in declared}
        else:
            assert (name, bound, one["at_most"]) in declared
    assert len(PUBLISHED[group]["figures"]) == len(declared)


def test_a_failure_is_the_reason_of_what_is_left() -> None:
    def measure(_: Bench, wanted: Sequence[Target]) -> Iterator[Target]:
        yield wanted[0].found(2, "seen")
        raise NotMeasuredError("it rained")

    bench = Bench(catalog.build_dir(), Progress())
    first, second = Measurement(measure, at_most("one", 3, "s"), at_least("two", 4, "s")).answers(bench)
    assert first == Target("one", 2, 3, unit="s", note="seen") and first.met
    assert second == Target("two", None, 4, at_most=False, note="it rained") and not second.met
    assert first.line().split() == ["one", "2", "s", "<=", "3", "met", "(seen)"]
    assert second.line().split() == ["two", "not", "measured", ">=", "4", "missed", "(it", "rained)"]


def cell(library: str, latency: float, status: str = "ok") -> Cell:
    made = Cell(contender("good", library), "pingpong", 1, 8, status=status, reason="" if status == "ok" else status)
    made.rounds = [Round(latency, latency, latency, latency, latency, 1, 0.0, 0.0)] * 30
    return made


def test_ratios_of_cells() -> None:
    outcome = Outcome([cell("mine", 2), cell("a", 4), cell("b", 5), cell("broken", 1, "hung")])
    keys = {name: (name, "put", 1, 8) for name in ("mine", "a", "b", "broken", "absent")}
    target = at_most("t", 0.6)
    assert Ratio(keys["mine"], keys["a"])(outcome, target).value == 0.5
    assert Ratio(keys["mine"], keys["broken"])(outcome, target).note == "hung"
    assert Ratio(keys["mine"], keys["absent"])(outcome, target).note == "was not measured"
    best = RatioToBest(keys["mine"], list(keys.values())[1:], "{library} {op}")
    assert (best(outcome, target).name, best(outcome, target).value) == ("t (a put)", 0.5)
    assert best(outcome, at_least("t", 0.6)).name == "t (b put)"
    assert RatioToBest(keys["mine"], [keys["broken"]], "")(outcome, target).note == "was not measured"


def test_a_library_is_first_or_tied() -> None:
    def call(library: str, rates: Sequence[float]) -> Cell:
        made = Cell(contender("good", library, op="call"), "flow", 1, 8)
        made.rounds = [Round(rate=rate) for rate in rates]
        return made

    target = at_least("t", 1.0)
    slow, mixed, fast = [5.0] * 40, [9.0] * 21 + [11.0] * 19, [10.0] * 40
    judge = FirstOrTied("lci", 1)
    beaten = judge(Outcome([call("ompl", slow), call("lci", fast)]), target)
    assert beaten.value == 0.5 and not beaten.met
    tied = judge(Outcome([call("ompl", mixed), call("lci", fast)]), target)
    assert tied.value == 1.0 and tied.met and tied.note.startswith("tied, median 0.90; 9 millions"), tied
    assert judge(Outcome([call("ompl", slow)]), target).note == "was not measured"


def test_runs_take_turns_in_both_orders() -> None:
    order = iter(range(4))
    assert in_turn(2, {"a": lambda: next(order), "b": lambda: next(order)}) == {"a": [0, 3], "b": [1, 2]}


def test_a_program_that_fails_says_why() -> None:
    assert output(["sh", "-c", "echo $SEEN"], 10, SEEN="here") == "here\n"
    with pytest.raises(OSError, match="sh ended with status 3: no luck"):
        output(["sh", "-c", "echo no luck >&2; exit 3"], 10)


def test_the_last_check_is_read_from_its_file(tmp_path: Path) -> None:
    bench = Bench(catalog.build_dir(), Progress())
    bench.build = tmp_path
    *_, measurement = checkout.measurements()
    (target,) = measurement.answers(bench)
    assert target.value is None and "no `make check` has ended" in target.note
    (tmp_path / "results").mkdir()
    kept = {"seconds": 1200, "load": 1.5, "cores": 2, "passed": 600, "failed": 0, "skipped": 7, "not run": 0}
    (tmp_path / "results/check.json").write_text(json.dumps(kept))
    (target,) = measurement.answers(bench)
    assert (target.value, target.met) == (20, False)
    assert target.note == "600 passed, 0 failed, 7 skipped, load at its start 1.5 on 2 cores"


def test_the_fullest_folder_is_counted() -> None:
    measurement = next(iter(checkout.measurements()))
    _, folder = measurement.answers(Bench(catalog.build_dir(), Progress()))
    if folder.value is None:
        pytest.skip(f"no checkout: {folder.note}")
    assert len([one for one in (CHECKOUT / folder.note).iterdir() if one.is_file()]) >= folder.value

# SPDX-License-Identifier: BSD-3-Clause
"""The result file, against its schema."""

import copy
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from omnipgas_tools.measure import results
from omnipgas_tools.measure.runner import Cell
from omnipgas_tools.measure.worker import Round
from omnipgas_tools.report import performance, plots, topics
from omnipgas_tools.targets import targets

from .common import SCHEMA, contender


def cell(bench: str = "pingpong", threads: int = 2, size: int = 64) -> Cell:
    made = Cell(contender("good"), bench, threads, size, version="1", transport="lies")
    for slow in (4.0, 2.0, 3.0):
        rate = 0.0 if bench == "pingpong" else slow
        made.rounds.append(Round(mean_us=2.0, fastest_us=1.0, slowest_us=slow, min_us=0.5, max_us=9.0, count=100,
                                 bandwidth=10 * slow, rate=rate, histogram=Counter({100: 60, 200: 40})))  # fmt: skip
    return made


def document(*rows: results.Result) -> dict[str, Any]:
    return results.document(results.machine(), {"interrupted": False, "libraries": {}}, list(rows))


def check(content: dict[str, Any]) -> None:
    jsonschema.validate(json.loads(json.dumps(content)), SCHEMA)


def test_every_kind_of_result_obeys_the_schema() -> None:
    failed = Cell(contender("good"), "pingpong", 1, 8, status="hung", reason="no answer")
    rows = [results.from_cell(one) for one in (cell(), cell("rate"), cell("flow"), failed)]
    check(document(*rows, results.skipped("rate", "mpich", "put", "not installed")))


@pytest.mark.parametrize(
    "damage",
    [
        {"status": "fine"},
        {"latency_us": None},
        {"reason": "though ok"},
        {"status": "hung"},
        {"threads": 0},
        {"extra": 1},
        {"bench": "pingpong", "bandwidth_MBps": None},
    ],
)
def test_the_schema_refuses(damage: dict[str, Any]) -> None:
    content = document(results.from_cell(cell()))
    content["results"][0] |= damage
    with pytest.raises(jsonschema.ValidationError):
        check(content)


NEWER = {"interval", "startup_s", "memory_MiB", "cpu_us_per_message"}  # which older files lack


def test_every_key_is_required() -> None:
    good = document(results.from_cell(cell()))
    for key in good["results"][0].keys() - NEWER:
        content = copy.deepcopy(good)
        del content["results"][0][key]
        with pytest.raises(jsonschema.ValidationError):
            check(content)


def test_what_is_compared_has_its_interval() -> None:
    interval = results.from_cell(cell())["interval"]
    assert (interval["median"], interval["rounds"]) == (3.0, 3)
    assert 2.0 <= interval["low"] <= 3.0 <= interval["high"] <= 4.0


def test_latency_is_summed_up_as_the_schema_says() -> None:
    latency = results.from_cell(cell())["latency_us"]
    assert latency["slowest_thread_mean"] == 3.0  # median of 4, 2, 3
    assert latency["fastest_thread_mean"] == 1.0
    assert latency["p50"] == pytest.approx(0.050, rel=0.01)  # bucket 100: 100 ns round trip
    assert (latency["min"], latency["max"], latency["count"]) == (0.5, 9.0, 300)


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("bench", ["pingpong", "rate", "flow"])
def test_plots_have_a_panel_for_each_thread_count(tmp_path: Path, bench: str, suffix: str) -> None:
    rows = [results.from_cell(cell(bench, threads, size)) for threads in (1, 2, 4) for size in (8, 64)]
    path = tmp_path / f"plot.{suffix}"
    plots.plot(path, bench, rows, percentiles=True)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    if suffix == "svg":
        assert data.count(b'id="axes_') == (6 if bench == "pingpong" else 1)


def test_nothing_measured_still_gives_a_plot(tmp_path: Path) -> None:
    path = tmp_path / "empty.png"
    plots.plot(path, "pingpong", [results.skipped("pingpong", "mpich", "put", "not installed")])
    assert path.stat().st_size > 0


def test_pages_of_figures_are_what_the_generator_writes(tmp_path: Path) -> None:
    docs, made = Path(__file__).parents[3] / "docs", tmp_path / "docs"
    (made / "results").mkdir(parents=True)
    shutil.copy(docs / "results/figures.json", made / "results")
    (made / "results/comparison").mkdir()
    shutil.copy(docs / "results/comparison/pingpong-1.json.gz", made / "results/comparison")
    shutil.copytree(docs / "performance", made / "performance")
    readme = re.sub(r"(<!-- begin figures -->).*(?=<!-- end figures -->)", r"\1\n", (docs / "../README.md").read_text(),
                    flags=re.DOTALL)  # fmt: skip
    (tmp_path / "README.md").write_text(readme)
    performance.pages(made)
    pages = ("performance.md", "performance/missed.md", *(f"performance/{t.name}.md" for t in topics.TOPICS))
    for name in ("../README.md", *pages):
        assert (made / name).read_text() == (docs / name).read_text(), f"{name}: run omni figures --pages"
    for topic in topics.TOPICS:
        assert (made / f"performance/{topic.name}.svg").read_text().count('id="axes_') == 1
    assert (made / "performance/demo.svg").read_text().count('id="axes_') == 4


def test_every_group_has_a_topic_and_every_answer_its_figures() -> None:
    assert sorted(name for topic in topics.TOPICS for name in topic.groups) == sorted(targets.GROUPS)
    overview = (Path(__file__).parents[3] / "docs/performance.md").read_text()
    assert "(not measured)" not in overview


def test_what_is_written_by_hand_stays_on_a_page() -> None:
    text = "# T\n<!-- begin figures -->\nold\n<!-- end figures -->\nby hand\n"
    page = performance.topic_page(topics.TOPICS[0], {}, text)
    assert "old" not in page and page.startswith("# T\n") and page.endswith("<!-- end figures -->\nby hand\n")
    with pytest.raises(ValueError, match="has no <!-- begin figures -->"):
        performance.topic_page(topics.TOPICS[0], {}, "# T\n")

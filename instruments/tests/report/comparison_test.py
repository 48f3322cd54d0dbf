# SPDX-License-Identifier: BSD-3-Clause
"""omni report of measurements made here: the page in a headless Chromium, the table, and files that it refuses."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from omnipgas_tools import __version__
from omnipgas_tools.report import comparison

from . import common

KEYS = ["raw put", "raw processes put", "ompl put", "ompl processes put"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A result file of ping-pong with threads and processes, one of the rate, and one of memory; gaspi is missing."""
    folder = tmp_path_factory.mktemp("measured")
    both = ["--quick", "--libs", "raw,ompl,gaspi", "--threads", "1,2", "--repeat", "2"]
    sizes = ["--sizes", "8,4096,65536", "--processes"]
    for bench, more in (("pingpong", [*sizes, "--op", "put"]), ("rate", ["--op", "put"])):
        common.command(bench, *both, *more, "--json", folder / f"{bench}.json", check=True)
    jobs = ["--libs", "ompl", "--threads", "1", "--ranks", "2,3", "--repeat", "1"]
    common.command("memory", *jobs, "--json", folder / "memory.json", check=True)
    return [folder / f"{bench}.json" for bench in ("pingpong", "rate", "memory")]


@pytest.fixture(scope="module")
def page(measured: list[Path]) -> Path:
    path = measured[0].with_name("page.html")
    table = path.with_suffix(".md")
    common.command("report", *measured, "-o", path, "--csv", path.with_suffix(".csv"), "--table", table, check=True)
    return path


def series(page: Any, section: str) -> list[list[str]]:
    """The lines of each figure of a section that have a point."""
    found: list[list[str]] = page.evaluate(
        """(id) => [...document.querySelectorAll(`#${id} figure > svg`)].map((figure) =>
          [...figure.querySelectorAll("g[data-series]")].filter((line) => line.querySelector(".mark"))
            .map((line) => line.dataset.series))""",
        section,
    )
    return found


def test_every_figure_is_drawn_and_the_legend_toggles(opened: Any, page: Path) -> None:
    shown = opened(page).page
    assert series(shown, "latency") == series(shown, "bandwidth") == [KEYS, KEYS]
    assert series(shown, "rate") == [["raw put", "ompl put"]]
    assert series(shown, "scaling") == [["1 threads", "2 threads"], ["1 processes", "2 processes"]]
    line = shown.locator("#latency svg").first.locator("g[data-series='ompl put'] path.line")
    assert line.bounding_box()["width"] > 0
    button = shown.locator("#legend button[data-value='ompl put']")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert series(shown, "latency")[0] == [key for key in KEYS if key != "ompl put"]
    assert "ompl put" not in shown.locator("#winners").inner_text()
    button.click()
    assert series(shown, "latency") == [KEYS, KEYS]


def test_threads_and_sizes_are_chosen(opened: Any, page: Path) -> None:
    shown = opened(page).page
    shown.locator("#threads button[data-value='2']").click()
    assert series(shown, "latency") == [KEYS]
    points = shown.locator("#bandwidth svg g[data-series='raw put'] .mark")
    assert points.count() == 3
    shown.locator("#smallest").select_option("4096")
    assert points.count() == 2
    shown.locator("#one").select_option("raw")
    assert shown.locator("#scaling figcaption").first.inner_text() == "raw put, threads"


def test_what_the_figures_rest_on_is_told(opened: Any, page: Path, measured: list[Path]) -> None:
    shown = opened(page).page
    content = json.loads(measured[0].read_text())
    machine = shown.locator("#machine").inner_text()
    assert content["machine"]["cpu"] in machine
    assert "omni pingpong --quick --libs raw,ompl,gaspi" in machine and "omni rate" in machine
    assert "shared memory" in shown.locator("#libraries").inner_text()
    assert [row["status"] for row in content["results"] if row["library"] == "gaspi"] == ["skipped"]
    assert "omni libs add gaspi PREFIX" in shown.locator("#problems").inner_text()


def test_what_a_peer_costs_is_in_a_table(opened: Any, page: Path, measured: list[Path]) -> None:
    shown = opened(page).page
    few, many = json.loads(measured[2].read_text())["results"]
    assert few["memory_per_peer_KiB"] is None and many["memory_per_peer_KiB"] is not None
    assert shown.locator("#memory tr").count() == 2  # the head, and one library with one number of threads
    cells = shown.locator("#memory td").all_inner_texts()
    assert cells[:2] == ["ompl", "1"]
    assert cells[2].endswith("MiB of 3") and cells[3].endswith("KiB")


def test_those_whose_intervals_overlap_and_that_are_near_are_tied(opened: Any, page: Path) -> None:
    tied = """() => {
      const row = (library, y, low, high) =>
        ({library, op: "put", size: 8, latency_us: {slowest_thread_mean: y}, interval: {low, high}});
      const rows = [row("b", 1.05, 1.02, 3), row("a", 1, .5, 1.5), row("c", 3, 1.6, 4), row("d", 2, 1.4, 4)];
      const {tied, wide} = winnersOf(rows);
      return [tied.map((one) => one.key), wide];
    }"""
    assert opened(page).page.evaluate(tied) == [["a put", "b put"], 1]


@pytest.fixture(scope="module")
def many(measured: list[Path]) -> Path:
    """A page of many libraries, made of one."""
    content = json.loads(measured[0].read_text())
    rows = [row for row in content["results"] if row["library"] == "raw" and row["status"] == "ok"]
    for number in range(18):
        name = f"library-{number:02}"
        content["command"]["libraries"][f"{name}, 1"] = next(iter(content["command"]["libraries"].values()))
        for row in rows:
            mean = row["latency_us"]["slowest_thread_mean"] * (2 + number)
            latency = row["latency_us"] | {"slowest_thread_mean": mean}
            content["results"].append(row | {"library": name, "latency_us": latency})
    path = measured[0].with_name("many.json")
    path.write_text(json.dumps(content))
    common.command("report", path, "-o", path.with_suffix(".html"), check=True)
    return path.with_suffix(".html")


def test_of_many_libraries_eight_are_drawn_at_first_and_none_looks_like_another(opened: Any, many: Path) -> None:
    shown = opened(many).page
    assert all(len(lines) <= 8 for lines in series(shown, "latency"))
    assert "ompl put" in series(shown, "latency")[0]
    looks = shown.locator("#legend button svg").evaluate_all("all => all.map((one) => one.innerHTML)")
    assert len(looks) == len(set(looks)) > 16
    button = shown.locator("#legend button[data-value='library-17 put']")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert "library-17 put" in series(shown, "latency")[0]


def test_the_page_says_first_what_it_found(opened: Any, page: Path) -> None:
    said = opened(page).page.locator("#conclusion").inner_text()
    assert re.match(r"Lowest latency one way: with 1 thread a rank, 8 B .*put \([\d.]+ µs\), 64 KiB ", said), said


def test_a_page_fits_on_a_phone(opened: Any, many: Path) -> None:
    shown = opened(many).page
    shown.set_viewport_size({"width": 420, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 420


def test_two_files_side_by_side(opened: Any, measured: list[Path]) -> None:
    path = measured[0].with_name("two.html")
    other = measured[0].with_name("after.json")
    other.write_text(measured[0].read_text())
    common.command("report", measured[0], "--beside", other, "-o", path, check=True)
    shown = opened(path).page
    captions = shown.locator("#latency figcaption").all_inner_texts()
    assert captions == [f"{n} per rank ({name})" for n in ("1 thread", "2 threads") for name in ("pingpong", "after")]


def test_the_table_has_every_result(page: Path, measured: list[Path]) -> None:
    text = page.with_suffix(".md").read_text()
    for size in ("8 B", "4 KiB", "64 KiB"):
        assert f"| put + flag, {size}, us one way | 1 thread | 2 threads |" in text
    assert [line for line in text.splitlines() if line.startswith(f"| `ompl` | {__version__} |")]
    with page.with_suffix(".csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    rows = [row for path in measured for row in json.loads(path.read_text())["results"]]
    assert len(table) == len(rows)
    for line, row in zip(table, rows, strict=True):
        assert (line["library"], line["op"], line["status"]) == (row["library"], row["op"], row["status"])
        if row["latency_us"]:
            assert float(line["latency_us_p50"]) == row["latency_us"]["p50"]
            assert float(line["interval_low"]) == row["interval"]["low"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "no result file"), ('{"schema": "x", "results": []}', "must contain"), (None, "No such file")],
)
def test_unusable_files_are_named(tmp_path: Path, text: str | None, complaint: str) -> None:
    path = tmp_path / "f.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(typer.BadParameter, match=complaint):
        comparison.read(path)


def test_files_of_two_machines_are_not_mixed(measured: list[Path], tmp_path: Path) -> None:
    content = json.loads(measured[0].read_text())
    content["machine"]["cpu"] = "another"
    (tmp_path / "other.json").write_text(json.dumps(content))
    with pytest.raises(typer.BadParameter, match="--beside"):
        comparison.side([measured[0], tmp_path / "other.json"])


def test_a_machine_is_the_same_when_a_virtual_one_has_got_more_memory(measured: list[Path], tmp_path: Path) -> None:
    content = json.loads(measured[0].read_text())
    topology = content["machine"]["topology"]
    less = re.sub(r"(Machine \(|#0 )\d+MB", r"\g<1>1MB", topology)
    content["machine"] |= {"load": 99.0, "memory_GiB": 1.0, "topology": less}
    (tmp_path / "later.json").write_text(json.dumps(content))
    assert len(comparison.side([measured[0], tmp_path / "later.json"])["results"]) > 0

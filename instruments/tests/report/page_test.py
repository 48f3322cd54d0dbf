# SPDX-License-Identifier: BSD-3-Clause
"""The page of omni model report in a headless Chromium without a network: what it draws, and how it obeys."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools import __version__
from omnipgas_tools.model import page as page_file
from omnipgas_tools.model import report, timelines

from . import common

PARTS = ("compute", "overhead", "send-wait", "recv-wait")
MILLION = "ring:64:3200:9000"  # 64 ranks, 3200 times: four operations, a wait that waits and then receives


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    common.omni("report", common.goal_file(folder), "--params", "myrinet", "-o", folder / "page.html", check=True)
    return folder / "page.html"


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("million") / "page.html"
    common.omni("report", MILLION, "--params", "myrinet", "-o", path, check=True)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_part_is_drawn(opened: Any, small: Path, scheme: str) -> None:
    one = opened(small, scheme)
    for part in PARTS:
        assert one.pixels(part) > 100, part
        assert one.pixels(part, "overview") > 20, part
    assert one.pixels("path") > 100  # the critical path
    ground = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark")
    for words in ("three.goal on myrinet", "send waiting", "overhead of a call", "omni model report", __version__):
        assert words in one.page.locator("body").inner_text()
    assert one.page.locator("#breakdown .bar").count() == 4  # three ranks and their mean
    waits = one.page.locator("#breakdown i[data-kind=send-wait]")
    assert waits.evaluate_all("all => all.filter((i) => i.clientWidth > 0).length") == 2  # rank 0 and the mean


def test_the_legend_takes_a_part_away_and_brings_it_back(opened: Any, small: Path) -> None:
    one = opened(small)
    before = one.pixels("recv-wait")
    button = one.page.locator("#timeline-section button", has_text="receive waiting")
    button.click()
    assert one.pixels("recv-wait") == 0
    assert one.pixels("send-wait") > 100
    assert button.get_attribute("aria-pressed") == "false"
    bars = one.page.locator("#breakdown i[data-kind=recv-wait]")
    assert bars.first.evaluate("(i) => getComputedStyle(i).opacity") == "0"
    button.click()
    assert one.pixels("recv-wait") == before


def test_hover_tells_what_a_rank_does(opened: Any, small: Path) -> None:
    one = opened(small)
    one.page.mouse.move(*one.point(10, 0.01))  # rank 0 computes first
    assert "computation, rank 0" in one.tip()
    one.page.mouse.move(*one.point(34 + 10, 0.01))  # and rank 1 waits for its message
    assert re.search(r"receive waiting, rank 1\nreceive from rank 0, 9,000 bytes\nline \d+\n.*, from 0 ns", one.tip())
    one.page.mouse.move(*one.point(10, 0.5))
    assert "send waiting, rank 0\nsend to rank 1, 60,000 bytes" in one.tip()
    one.page.mouse.move(*one.point(10, 0.999))
    assert "its program has ended" in one.tip()
    one.page.mouse.move(*one.point(-100, 0.5))
    assert one.tip() == ""


@pytest.mark.long
def test_zoom_and_motion(opened: Any, small: Path) -> None:
    one = opened(small)
    _, total = one.window()
    one.page.mouse.move(*one.point(10, 0.5))
    one.page.mouse.wheel(0, -600)
    start, stop = one.window()
    assert 0 < start < total / 2 < stop < total
    assert (start + stop) / 2 == pytest.approx(total / 2, rel=0.02)  # about the pointer
    one.page.mouse.down()
    one.page.mouse.move(*one.point(10, 0.75))
    one.page.mouse.up()
    moved, _ = one.window()
    assert start - moved == pytest.approx((stop - start) / 4, rel=0.02)
    for key, check in (
        ("0", lambda a, b: (a, b) == (0, total)), ("+", lambda a, b: b - a == pytest.approx(total / 2)),
        ("ArrowRight", lambda a, b: a > total / 4), ("-", lambda a, b: b - a == pytest.approx(total)),
    ):  # fmt: skip
        one.page.locator("#timeline").press(key)
        assert check(*one.window()), key
    one.page.keyboard.down("Shift")
    one.page.mouse.move(*one.point(10, 0.2))
    one.page.mouse.down()
    one.page.mouse.move(*one.point(10, 0.3))
    one.page.mouse.up()
    one.page.keyboard.up("Shift")
    assert one.window() == pytest.approx((0.2 * total, 0.3 * total), rel=0.02)
    one.page.get_by_role("button", name="whole run").click()
    one.page.get_by_role("button", name="zoom in").click()
    assert one.window() == pytest.approx((total / 4, 3 * total / 4))
    one.page.get_by_role("button", name="zoom out").click()
    assert one.window() == pytest.approx((0, total))
    one.page.mouse.move(*one.point(10, 0.5))
    for _ in range(60):
        one.page.mouse.wheel(0, -2000)
    start, stop = one.window()
    assert stop - start == pytest.approx(1)  # a nanosecond, and no further


def test_messages_and_path_can_be_hidden(opened: Any, small: Path) -> None:
    one = opened(small)
    assert "3 messages as lines" in one.page.locator("#timeline-note").inner_text()
    for button, color in (("critical path", "path"), ("messages", "message")):
        before = one.pixels(color)
        one.page.get_by_role("button", name=button, exact=True).click()
        assert one.pixels(color) < before / 2


@pytest.mark.long
def test_a_million_events(opened: Any, million: Path) -> None:
    one = opened(million)
    assert one.page.evaluate("view.lanes.end.length") >= 1_000_000
    assert one.pixels("recv-wait") > 10_000
    assert one.pixels("overhead") > 10_000
    assert "409,600 messages here: zoom in" in one.page.locator("#timeline-note").inner_text()
    one.page.mouse.move(*one.point(10, 0.5))
    assert re.search(r"rank 1\n.*\nring, call \d\n.*\n\d+ more intervals in this column", one.tip())
    _, total = one.window()
    one.page.mouse.wheel(0, -4000)
    start, stop = one.window()
    assert stop - start < total / 1000
    assert re.match(r".* messages as lines", one.page.locator("#timeline-note").inner_text())
    assert one.pixels("recv-wait") > 10_000
    one.page.locator("#timeline-section button", has_text="receive waiting").click()
    assert one.pixels("recv-wait") == 0
    # The pixels of a column are divided as the time in it: over the whole run as the breakdown says.
    one.page.locator("#timeline-section button", has_text="receive waiting").click()
    one.page.get_by_role("button", name="whole run").click()
    one.page.get_by_role("button", name="critical path").click()
    sums = one.page.evaluate("""() => {
      const sums = [0, 0, 0, 0];
      view.lanes.columns(7, 0, view.total / 1000, 1000,
        (_, shares) => shares.forEach((share, k) => { sums[k] += share / 1000; }));
      return sums.map((sum, k) => sum - prediction.per_rank[7][FIELDS[k]] / prediction.predicted_seconds);
    }""")
    assert sums == pytest.approx([0] * 4, abs=1e-9)
    down = one.pixels("recv-wait") / one.pixels("overhead")
    share = one.page.evaluate("prediction.per_rank[7].recv_wait / prediction.per_rank[7].overhead")
    assert down == pytest.approx(share, rel=0.25)


def test_what_would_help_is_ranked(opened: Any, small: Path) -> None:
    one = opened(small)
    rows = one.page.locator("#whatif .value").all_inner_texts()
    assert len(rows) > 5
    words = [re.fullmatch(r"\S+ (s|ms|µs|ns) (less|more) \(.* %\)", row) for row in rows]
    order = [found[2] for found in words if found]
    assert len(order) == len(rows)
    assert order == sorted(order)  # less, then more
    assert order[0] == "less"
    assert "compute x 0.5" in one.page.locator("#whatif").inner_text()


def test_what_was_left_out_is_said(opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    done = common.omni("report", "ring:4:100:1000", "--params", "myrinet", "-o", path, "--records", "400")
    assert "the timeline is not whole" in done.stderr
    one = opened(path)
    assert "the timeline is not whole" in one.page.locator("#warnings").inner_text()
    one.page.mouse.move(*one.point(10, 0.9))
    assert "not kept" in one.tip()


def test_names_from_a_trace_are_text(opened: Any, tmp_path: Path) -> None:
    found = report.run("ring:4:10:1000", "myrinet", "loggps", 10_000)
    evil = "</script><img src=x onerror=alert(1)><!--"
    for row in found.prediction["per_site"]:
        row["where"] = evil
    found.prediction["input"] = found.prediction["machine"] = evil
    page_file.write(tmp_path / "page.html", found)
    one = opened(tmp_path / "page.html")
    assert one.page.locator("img").count() == 0
    assert evil in one.page.locator("#sites").inner_text()
    one.page.mouse.move(*one.point(10, 0.5))
    assert evil in one.tip()


def test_intervals_of_a_fit_are_shown(opened: Any, tmp_path: Path) -> None:
    quantities = {name: {"value": 10, "unit": "ns/byte", "low": 8.5, "high": 11.25} for name in
                  ("Oss", "Ors", "Gs", "Osl", "Orl", "Gl")}  # fmt: skip
    quantities |= {name: {"value": 900, "unit": "ns", "low": 800, "high": 1000} for name in ("L", "o")}
    quantities |= {name: {"value": 8192, "unit": "bytes"} for name in ("s", "S")}
    quantities["L"]["identified"] = False
    parameters = tmp_path / "parameters.json"
    parameters.write_text(json.dumps({"machine": "here", "models": {"loggps": quantities}}))
    common.omni("report", "ring:4:10:1000", "--params", parameters, "-o", tmp_path / "page.html", check=True)
    shown = opened(tmp_path / "page.html").page.locator("#parameters").inner_text()
    assert re.search(r"Gs\t.*\t10 ns/byte\t8.5 to 11.25 ns/byte", shown)
    assert "cannot be identified" in shown


def test_the_order_of_call_sites_can_be_chosen(opened: Any, million: Path) -> None:
    one = opened(million)

    def first() -> str:
        return str(one.page.locator("#sites tbody tr").first.inner_text())

    assert first().startswith("ring, call 7")
    one.page.locator("#sites th button", has_text="call site").click()
    assert one.page.locator("#sites th").first.get_attribute("aria-sort") == "descending"
    one.page.locator("#sites th button", has_text="call site").click()
    assert first().startswith("ring, call 0")


def test_the_parts_are_those_of_the_replayer() -> None:
    assert [name.replace("_", "-") for name in timelines.PARTS] == list(PARTS)

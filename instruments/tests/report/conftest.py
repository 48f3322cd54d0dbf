# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium without a network, and the pages that it opens."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT_MS = 240_000
GUTTER = 74  # left of the lanes, as timeline.js has it
# How many pixels of a canvas have the colour of a part.
COUNT = """([id, part]) => {
  const canvas = document.getElementById(id);
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${part}`).trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += data[i] === r && data[i + 1] === g && data[i + 2] === b;
  return count;
}"""
# After what was asked for is drawn.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Opened:
    """A page, and what it should not have done."""

    page: Any
    path: Path
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def pixels(self, part: str, canvas: str = "timeline") -> int:
        self.page.evaluate(DRAWN)
        return int(self.page.evaluate(COUNT, [canvas, part]))

    def box(self) -> dict[str, float]:
        self.page.locator("#timeline").scroll_into_view_if_needed()
        box: dict[str, float] = self.page.locator("#timeline").bounding_box()
        return box

    def point(self, lane: float, part: float) -> tuple[float, float]:
        """In the window: so many lanes (of 34 pixels) down, at this part of the lanes' width."""
        box = self.box()
        return box["x"] + GUTTER + part * (box["width"] - GUTTER), box["y"] + lane

    def window(self) -> tuple[float, float]:
        self.page.evaluate(DRAWN)
        start, stop = self.page.evaluate("[view.start, view.stop]")
        return start, stop

    def tip(self) -> str:
        return str(self.page.locator("#tip").inner_text()) if self.page.locator("#tip").is_visible() else ""


def children() -> set[int]:
    """The processes below this one, by id."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):  # it ended
            continue
    found, new = set(), {os.getpid()}
    while new := {process for process, parent in parents.items() if parent in new}:
        found |= new
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, which leaves neither a process nor a profile behind; its own notes go into a home of its own."""
    if CHROMIUM is None:
        pytest.skip("no chromium; scripts/setup.sh check brings it")
    reason = "no playwright; scripts/setup.sh check brings it"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    folder, home, before = tmp_path_factory.mktemp("browser"), tmp_path_factory.mktemp("home"), children()
    places = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        with sync_api.sync_playwright() as playwright:
            env = {**os.environ, **{name: str(place) for name, place in places.items()}}
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, timeout=LIMIT_MS, env=env)
            yield chromium
            chromium.close()
    until = time.monotonic() + LIMIT_MS / 1000
    while (left := children() - before) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left
    assert not list(folder.iterdir())
    shutil.rmtree(home)


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """A function that opens a page; whatever the test does, it asks for nothing and does not complain."""
    made: list[Opened] = []

    def opens(path: Path, scheme: str = "light") -> Opened:
        context = browser.new_context(offline=True, viewport={"width": 1366, "height": 768}, color_scheme=scheme)
        context.set_default_timeout(LIMIT_MS)
        one = Opened(context.new_page(), path)
        made.append(one)
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.on("console", lambda message: one.complaints.append(message.text))
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.goto(path.as_uri())
        one.page.wait_for_selector("html[data-ready=yes]")
        one.page.evaluate(DRAWN)
        return one

    yield opens
    for one in made:
        one.page.context.close()
        assert one.complaints == []
        assert one.requests == [one.path.as_uri()]

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site_browser.py SITE: the site in a headless Chromium without a network. Pages of each kind, light and dark, on a
desktop and on a phone: nothing is loaded from elsewhere, the console stays empty, pictures are there and as wide as the
text, no page is wider than the screen, and all text has the contrast of WCAG AA. The search finds a function. Skips
without Chromium or Playwright."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

SKIPPED = 77
LIMIT_MS = 240_000
PAGES = (
    "index", "contents", "tutorials/first-program", "how-to/find-the-cause", "how-to/packaging", "reference/glossary",
    "reference/support-matrix", "explanation/how-it-works", "performance", "performance/missed", "status/packaging",
    "api/ompl",
)  # fmt: skip
DESKTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 844}
# Texts with too little contrast, by the formula of WCAG 2.1: at least 4.5, or 3 where they are large.
CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = [r, g, b].map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const over = (top, below) => below.map((c, i) => (top[i] * top[3] + c * (255 - top[3])) / 255);
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    const style = getComputedStyle(element);
    if (!text || !element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
    const back = ground(element), front = over(rgba(style.color), back);
    const [low, high] = [light(back), light(front)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (size >= 24 || (bold && size >= 18.66) ? 3 : 4.5))
      found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${text.slice(0, 30)}`);
  }
  return [...found];
}"""
WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"
# Pictures that did not come, or that are narrower than the text allows although they could be wider.
PICTURES = """() => [...document.images].filter((i) => i.checkVisibility()).map((i) => {
  const room = i.closest("article, section, main, body").clientWidth;
  const small = i.clientWidth < Math.min(i.naturalWidth, 0.9 * room);
  return !i.complete || i.naturalWidth === 0 ? `${i.src} did not load`
    : small && i.naturalWidth > 100 ? `${i.src} is ${i.clientWidth} px wide of ${room}` : "";
}).filter(Boolean)"""


class Site:
    """The pages in a browser, and what is wrong with them."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self.page = browser.new_context(offline=True, viewport=DESKTOP).new_page()
        self.page.set_default_timeout(LIMIT_MS)
        self.page.on("console", lambda message: self.faults.append(f"{self.page.url}: console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.page.url}: {error}"))
        self.page.on("request", lambda request: self.looked_at(request.url))

    def looked_at(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.faults.append(f"{self.page.url}: asks for {url}")

    def check(self, name: str) -> None:
        path = self.folder / f"{name}.html"
        if not path.exists():
            self.faults.append(f"{name}: no such page")
            return
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size(DESKTOP)
            self.page.goto(path.as_uri())
            self.faults += [f"{name}, {scheme}: {text}" for text in self.page.evaluate(CONTRAST)]
        self.page.set_viewport_size(PHONE)
        self.page.reload()
        if (wide := self.page.evaluate(WIDE)) > 0:
            self.faults.append(f"{name}: on a phone {wide} px wider than the screen")
        self.faults += [f"{name}: {text}" for text in self.page.evaluate(PICTURES)]

    def search(self, word: str) -> None:
        """The search finds the word, with the index that lies beside the pages."""
        self.page.goto(f"{(self.folder / 'search.html').as_uri()}?q={word}")
        self.page.wait_for_selector("#search-results li a")
        if not self.page.locator("#search-results li a", has_text=word).count():
            self.faults.append(f"the search does not find {word}")


def main(folder: Path) -> int:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        chromium = None
    if chromium is None or not folder.is_dir():
        print(f"skipped: no chromium, no playwright or no {folder}; scripts/setup.sh check brings the programs")
        return SKIPPED
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"), home)
        browser = playwright.chromium.launch(executable_path=chromium, timeout=LIMIT_MS, env={**os.environ, **places})
        site = Site(browser, folder)
        for name in PAGES:
            site.check(name)
            print(f"{name}: looked at", flush=True)
        site.search("ompl_put")
        browser.close()
    print(*site.faults, f"{len(PAGES)} pages in two colours and two widths: {len(site.faults)} faults", sep="\n")
    return 1 if site.faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

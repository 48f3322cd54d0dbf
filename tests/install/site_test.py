#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site_test.py OUT: the site builds in OUT without a warning, holds every function and page, all its links lead
somewhere, and nothing in it is loaded from elsewhere. Skips without Sphinx."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import contract  # noqa: E402

SKIPPED = 77
FOREIGN = re.compile(r"(?:@import |url\()['\"]?(?:https?:)?//.*")
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADS.get(tag, "") in values:
            self.loads.append(values[LOADS[tag]])


def foreign(site: Path, pages: dict[Path, Page]) -> list[str]:
    """What is loaded from elsewhere, by pages and by style sheets."""
    found = [f"{path}: {name}" for path, page in pages.items() for name in page.loads if "//" in name]
    for sheet in site.rglob("*.css"):
        found += [f"{sheet}: {name}" for name in FOREIGN.findall(sheet.read_text())]
    return found


def broken(pages: dict[Path, Page]) -> list[str]:
    """Links and loads within the site that lead nowhere."""
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            file, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:", file):
                continue
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            known = pages.get(target)
            if not target.exists() or (anchor and known and anchor not in known.anchors):
                found.append(f"{path.name}: {link}")
    return found


def main(out: Path) -> int:
    done = subprocess.run([sys.executable, ROOT / "scripts/site.py", out], timeout=1600, check=False)
    if done.returncode != 0:
        return done.returncode
    site = out / "html"
    pages = {path: Page(path) for path in site.rglob("*.html")}
    headers = contract.contract()
    functions = {name for h in headers[:2] for s in h.sections for i in s.items for name in i.functions}
    anchors = set().union(*(page.anchors for page in pages.values()))
    titles = {path.relative_to(site).with_suffix("").as_posix() for path in pages}
    names = [path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")]
    documents = {path.as_posix() for path in names if path.name != "README"}
    documents |= {(path.parent / "index").as_posix() for path in names if path.name == "README"}
    checks = {
        "functions without an entry": sorted(name for name in functions if f"c.{name}" not in anchors),
        "documents without a page": sorted(documents - titles),
        "loaded from elsewhere": foreign(site, pages),
        "links that lead nowhere": broken(pages),
        "no index for the search": [] if (site / "searchindex.js").stat().st_size > 10000 else ["searchindex.js"],
    }
    for what, found in checks.items():
        print(f"{'FAILED' if found else 'ok'}: {what}: {len(found)} {found[:20]}")
    print(f"{len(pages)} pages, {len(functions)} functions")
    return 1 if any(checks.values()) or len(pages) < 10 or len(functions) < 30 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

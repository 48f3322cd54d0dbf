#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Links of the tree's Markdown files lead to a file, and to a heading of it; pages that other files name are there.

links.py ROOT         prints every violation as FILE:LINE: text; status 1 if any
links.py --self-test  seeds violations of every kind in a small tree: all must be found, and nothing else
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LIMIT_S = 60
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]+\.(?:md|svg|png)\b")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
INDEXED = ("tutorials", "how-to", "reference", "explanation")  # folders of docs/ whose README names every page
SELF = "tests/style/links.py"


def tracked(root: Path) -> list[str]:
    """The tree's files, new ones included, ignored ones not."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(git, cwd=root, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return sorted(name for name in set(done.stdout.split("\n")) if name and (root / name).is_file())


def without_code(text: str) -> str:
    """The text with its listings blanked, so that places stay the same."""
    text = FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return CODE.sub(lambda found: " " * len(found[0]), text)


def slug(heading: str) -> str:
    """The anchor that a heading gets: as GitHub makes it."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    text = path.read_text()
    found: set[str] = set(ANCHOR.findall(text))
    for heading in HEADING.findall(FENCE.sub("", text)):
        name, count = slug(heading), 0
        while name in found:
            count += 1
            name = f"{slug(heading)}-{count}"
        found.add(name)
    return frozenset(found)


def links(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Broken links of a Markdown file, with their lines."""
    text = without_code((root / name).read_text())
    for match in LINK.finditer(text):
        file, _, anchor = match[1].partition("#")
        if ELSEWHERE.match(match[1]):
            continue
        line = text.count("\n", 0, match.start()) + 1
        target = ((root / name).parent / file).resolve() if file else (root / name).resolve()
        if not target.exists():
            yield line, f"{match[1]} is no file of the tree"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield line, f"{match[1]}: {target.name} has no heading of that name"


def named(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Pages that a file names by their path from the root (in a comment, a message or code), and that are not there."""
    try:
        text = (root / name).read_text()
    except UnicodeDecodeError:
        return
    for match in NAMED.finditer(text):
        if not (root / match[0]).exists():
            yield text.count("\n", 0, match.start()) + 1, f"{match[0]} is no file of the tree"


def unlisted(root: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Pages that the README of their folder does not link to."""
    for folder in INDEXED:
        index = f"docs/{folder}/README.md"
        listed = set(LINK.findall((root / index).read_text())) if index in names else set()
        for name in names:
            page = Path(name)
            if page.parent == Path("docs", folder) and page.suffix == ".md" and page.name not in listed | {"README.md"}:
                yield name, f"{index} does not list it"


def violations(root: Path) -> list[str]:
    names = tracked(root)
    found = [f"{name}:1: {text}" for name, text in unlisted(root, names)]
    for name in names:
        faults = links(root, name) if name.endswith(".md") else iter(())
        found += [f"{name}:{line}: {text}" for line, text in faults]
        if name != SELF:
            found += [f"{name}:{line}: {text}" for line, text in named(root, name)]
    return found


def self_test() -> int:
    seeded = {
        "README.md": "# A b\n[x](docs/how-to/x.md#two-words-c) [y](https://y.z) [a](#a-b) [f](src)\n`[no](link)`\n",
        "docs/how-to/README.md": "[x](x.md)\n[gone](gone.md)\n",
        "docs/how-to/x.md": "# Two words: `c`\n```\n# no\n[no](link)\n```\n[a](../../README.md#c)\n[self](#no)\n",
        "docs/how-to/z.md": "# Z\n",
        "src/a.c": "// docs/how-to/x.md\n// docs/x.md says why.\n",
    }
    expected = {
        ("docs/how-to/README.md:2", "gone.md is no file"), ("docs/how-to/x.md:6", "no heading"),
        ("docs/how-to/x.md:7", "no heading"), ("docs/how-to/z.md:1", "does not list"),
        ("src/a.c:2", "docs/x.md is no file"),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True, timeout=LIMIT_S)
        for name, text in seeded.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = violations(root)
    missed = [pair for pair in expected if not any(f.startswith(pair[0] + ":") and pair[1] in f for f in found)]
    for place, why in missed:
        print(f"FAILED: not found: {place}: {why}")
    if len(found) != len(expected):
        print("FAILED: found:", *found, sep="\n")
    return 1 if missed or len(found) != len(expected) else 0


def main(root: Path) -> int:
    found = violations(root)
    for text in found:
        print(text)
    print(f"{len(found)} violations in links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(Path(sys.argv[1]).resolve()))

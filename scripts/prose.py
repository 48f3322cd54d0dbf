#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose.py [PAGE...]: the rules of this project for pages in Markdown, and those of proselint where it is installed.

Without a page it looks at every page of the tree that scripts/prose-pending.txt does not name: README.md,
CONTRIBUTING.md and the others at the root, and docs/. A page that is clean must not stand in that list, so the list
only gets shorter. Prints FILE:LINE: text for each finding; the exit status is 1 if there is any.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PENDING = ROOT / "scripts/prose-pending.txt"
WORDS = ROOT / "scripts/prose-words.txt"
MAX_COLUMNS = 120
MAX_PARAGRAPH = 6  # lines
MAX_PAGE = 300  # lines
MAX_CLAUSE = 40  # words between full stops, colons and semicolons
LIMIT_S = 600
# proselint's checks that do not fit: pages are ASCII, tables repeat words, and these are terms of the field.
NO_CHECKS = ("typography", "lexical_illusions", "annotations", "spelling", "industrial_language")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LISTING = re.compile(r"^ {4,}\S.*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
TARGET = re.compile(r"\]\([^)\s]*\)")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\[*])")
CLAUSE = re.compile(r"[;:] ")
# A sentence that begins so and has none of these verbs has no main clause; "What to do: ..." is a label.
FRAGMENT = re.compile(
    r"(?:Of|Who|Which)\b[^?]*$|What(?! [^.;,]{0,30}: )(?!.*\b(?:is|are|was|were|has|have|takes?|costs?|stands?|goes|"
    r"makes?|comes?|remains?)\b)[^?]*$"
)
DOUBLED = re.compile(r"\b([A-Za-z]{2,}) \1\b")


@dataclass(frozen=True, order=True)
class Finding:
    line: int
    text: str


def without_code(text: str) -> str:
    """The page with listings blanked, and code in lines and the targets of links as words of the same length."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = LISTING.sub(blank, FENCE.sub(blank, text)) if "```" in text or "    " in text else text
    text = CODE.sub(lambda found: "`" + "c" * (len(found[0]) - 2) + "`", text)
    return TARGET.sub(lambda found: "]" + " " * (len(found[0]) - 1), text)


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Paragraphs and items of lists, each with its first line's number; no headings, tables or listings."""
    start = 0
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        ends = not line.strip() or line.startswith(("#", "|", "<", "!["))
        if lines and (ends or ITEM.match(line)):
            yield start, lines
            lines = []
        if not ends:
            start = start if lines else number
            lines.append(line)


def words() -> list[tuple[re.Pattern[str], str]]:
    """Words that are not ours, each with what to write instead: lines `pattern = instead`."""
    found = []
    for line in WORDS.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split(" = ")
            found.append((re.compile(rf"\b{pattern}\b", re.IGNORECASE), instead))
    return found


def sentences(start: int, lines: list[str]) -> Iterator[Finding]:
    """What is wrong with the sentences of a block."""
    text = " ".join([ITEM.sub("", lines[0]), *lines[1:]])
    for sentence in SENTENCE.split(text):
        said = " ".join(sentence.split()[:6])
        count = max(len(re.findall(r"[A-Za-z]\S*", clause)) for clause in CLAUSE.split(sentence))
        if count > MAX_CLAUSE:
            yield Finding(start, f'"{said} ..." has a clause of {count} words: at most {MAX_CLAUSE}')
        if FRAGMENT.match(sentence):
            yield Finding(start, f'"{said} ..." begins with no subject: write a whole sentence')


def own_rules(text: str) -> list[Finding]:
    lines = text.rstrip("\n").split("\n")
    found = []
    if len(lines) > MAX_PAGE:
        found.append(Finding(1, f"{len(lines)} lines: at most {MAX_PAGE}; divide the page"))
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            found.append(Finding(number, f"{len(line)} columns: at most {MAX_COLUMNS}"))
    plain = without_code(text)
    vocabulary = words()
    for number, line in enumerate(plain.split("\n"), 1):
        for pattern, instead in vocabulary:
            if match := pattern.search(line):
                found.append(Finding(number, f'"{match[0]}": write {instead}'))
        if match := DOUBLED.search(line):
            found.append(Finding(number, f'"{match[0]}": a word twice'))
    for start, block in blocks(plain):
        if len(block) > MAX_PARAGRAPH:
            found.append(Finding(start, f"a paragraph of {len(block)} lines: at most {MAX_PARAGRAPH}"))
        found += sentences(start, block)
    return sorted(found)


def proselint(program: str, pages: dict[str, str]) -> dict[str, list[Finding]]:
    """What proselint finds in pages, by page. Code is not looked at."""
    found: dict[str, list[Finding]] = {name: [] for name in pages}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        places = {folder / f"{i}.md": page for i, page in enumerate(pages)}
        for place, page in places.items():
            place.write_text(without_code(pages[page]))
        command = [program, "--output-format", "compact", "check", *map(str, places)]
        done = subprocess.run(command, timeout=LIMIT_S, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"proselint: exit status {done.returncode}: {done.stderr or done.stdout}")
        for line in done.stdout.splitlines():
            match = re.match(r"(.+?\.md):(\d+):\d+: (.*)", line)
            if match and not match[3].startswith(NO_CHECKS):
                found[places[Path(match[1])]].append(Finding(int(match[2]), match[3]))
    return found


def pages() -> list[str]:
    """Every page that users read, by its path; generated ones too."""
    return sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def pending() -> list[str]:
    lines = PENDING.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def findings(names: list[str]) -> str:
    """What is wrong with these pages by our own rules; or with all that are held, and with the list."""
    waiting = [] if names else pending()
    every = names or pages()
    said = [f"scripts/prose-pending.txt: {name} is no page: take it out\n" for name in waiting if name not in every]
    for name in every:
        found = own_rules((ROOT / name).read_text())
        if name not in waiting:
            said += [f"{name}:{fault.line}: {fault.text}\n" for fault in found]
        elif not found:
            said.append(f"scripts/prose-pending.txt: {name} is clean: take it out\n")
    return "".join(said)


def proselint_findings(program: str, names: list[str]) -> str:
    """What proselint finds in these pages, or in all that are held."""
    waiting = [] if names else pending()
    held = {name: (ROOT / name).read_text() for name in names or pages() if name not in waiting}
    found = proselint(program, held)
    return "".join(f"{name}:{fault.line}: {fault.text}\n" for name, faults in found.items() for fault in faults)


def main(names: list[str]) -> int:
    said = findings(names)
    print(said, end="")
    print(f"{len(names) or len(pages()) - len(pending())} pages held, {0 if names else len(pending())} not yet")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

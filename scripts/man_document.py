#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""man_document.py OUT NAME SECTION DOCUMENT: writes NAME(SECTION) below OUT from a document in Markdown.

Knows what the documents use: headings, paragraphs, lists, tables, listings, code and bold type in lines, and links.
"""

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from man import Shelf, escape, listing, references, terms, wrapped

ALSO = [("oshcc", 1), ("oshrun", 1), ("omplrun", 1), ("ompl-environment", 7)]
CELL = re.compile(r"(?<!\\\\)\|")


def inline(text: str) -> str:
    """A paragraph with its type: code in bold, links as their text."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    text = escape(text)
    text = re.sub(r"`([^`]+)`|\*\*([^*]+)\*\*", lambda found: f"\\fB{found[1] or found[2]}\\fP", text)
    return wrapped(text)


def table(lines: list[str]) -> str:
    """The first column as terms; the head and the line below it are left out."""
    rows = [[cell.strip() for cell in CELL.split(line.strip().strip("|"))] for line in lines]
    return terms([(row[0].replace("`", ""), inline("; ".join(row[1:]))) for row in rows[2:]])


def block(lines: list[str]) -> str:
    """What stands between two empty lines."""
    if lines[0].startswith("|"):
        return table(lines)
    if lines[0].startswith("    "):
        return ".PP\n" + listing("\n".join(line.removeprefix("    ") for line in lines))
    if lines[0].startswith("- "):
        items = re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]
        return "\n".join(".IP \\- 2\n" + inline(item) for item in items)
    return ".PP\n" + inline(" ".join(lines))


def blocks(text: str) -> Iterator[str]:
    """Listings stay whole."""
    for number, part in enumerate(re.split(r"^```\w*\n", text, flags=re.MULTILINE)):
        if number % 2 == 1:
            yield ".PP\n" + listing(part)
            continue
        for filled, lines in groupby(part.splitlines(), lambda line: line.strip() != ""):
            if filled:
                yield block(list(lines))


def main(out: str, name: str, section: str, document: str) -> None:
    title, *chapters = re.split(r"^##? ", Path(document).read_text(), flags=re.MULTILINE)[1:]
    brief, _, description = title.partition("\n")
    parts = [("DESCRIPTION", "\n".join(blocks(description)).removeprefix(".PP\n"))]
    for chapter in chapters:
        head, _, text = chapter.partition("\n")
        parts.append((escape(head.upper()), "\n".join(blocks(text)).removeprefix(".PP\n")))
    parts.append(("SEE ALSO", references(ALSO)))
    Shelf(Path(out)).write(name, int(section), escape(brief), parts)


if __name__ == "__main__":
    main(*sys.argv[1:])

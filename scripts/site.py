#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site.py OUT: the site in OUT/html, from README.md, docs/ and the public headers. Needs Sphinx, MyST and Furo
(Debian: python3-sphinx, python3-myst-parser, furo) and no network; a warning is an error.

The pages are written below OUT/source first: Markdown with its links turned to where the pages then are, and
one page for each header, made from its comments.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import contract
from contract import ROOT

LIMIT_S = 1500  # sphinx-build takes 20 s on an idle machine, 400 s on one that compiles much beside it
SKIPPED = 77
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
WORDS = re.compile(r"`([^`]+)`|\b(ompl_[a-z_0-9]+)\b(?:\(\))?(?!\()|\b(OMPL_[A-Z_0-9]+(?:=[a-z]+)?\*?)|(\*)|\[OMPL\] ")
TYPE = re.compile(r"typedef (?:struct |\w+ \(\*)(ompl_\w+)")
FOLDERS = ("tutorials", "how-to", "reference", "explanation")  # of docs/; each has an index page, README.md
# The extensions that the pages need; what the C domain cannot resolve are the types of the C library.
CONFIGURATION = """
project = "OmniPGAS"
copyright = "the OmniPGAS developers"
version = release = "{version}"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "OmniPGAS {version}"
html_show_sphinx = False
html_copy_source = False
nitpicky = True
nitpick_ignore_regex = [("c:identifier", ".*_t")]
"""


def pages() -> dict[Path, str]:
    """The Markdown files of the site, each with its name there. The README of a folder is its index."""
    names = {path: path.stem.lower() for path in sorted(ROOT.glob("*.md"))}
    names[ROOT / "README.md"] = "index"
    for path in sorted((ROOT / "docs").rglob("*.md")):
        names[path] = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        if path.name == "README.md":
            names[path] = names[path].removesuffix("README") + ("contents" if path.parent.name == "docs" else "index")
    return names


def linked(path: Path, names: dict[Path, str]) -> str:
    """A page's text; its links lead to other pages, what is none stays as its name."""

    def turn(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        if target.startswith(("https:", "#")):
            return match[0]
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve()
        if image:  # pictures lie on the site as they lie in docs/
            return f"![{label}]({os.path.relpath(found.relative_to(ROOT / 'docs'), Path(names[path]).parent)})"
        found = found / "README.md" if found.is_dir() else found
        api = f"api/{found.stem}" if found.name in contract.HEADERS else None
        name = names.get(found, api)
        if name is None:
            return label
        here = Path(names[path]).parent
        target = os.path.relpath(f"{name}.{'rst' if api else 'md'}", here)
        return f"[{label}]({target}{'#' if anchor else ''}{anchor})"

    return LINK.sub(turn, path.read_text())


def contents(title: str, names: list[str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(names) + "\n```\n"


def marked(text: str, functions: set[str]) -> str:
    """A comment as reStructuredText."""

    def mark(match: re.Match[str]) -> str:
        argument, function, constant, star = match.groups()
        if star:
            return "\\*"
        if function in functions:
            return f":c:func:`{function}`"
        words = argument or constant or function
        return f"``{words}``" if words else ""

    text = re.sub(r"^([A-Z][a-z]+)\.(?=\s)", r"**\1.**", text.replace("\\", "\\\\"), flags=re.MULTILINE)
    bold = text.split("**")  # the stars that were just made are no text
    parts = [WORDS.sub(mark, part) for part in bold] if len(bold) % 2 else [WORDS.sub(mark, text)]
    return re.sub(r"^ +- ", "- ", "**".join(parts), flags=re.MULTILINE)


def indented(text: str) -> str:
    return re.sub(r"^(?=.)", "   ", text, flags=re.MULTILINE)


def api_page(header: contract.Header, functions: set[str]) -> str:
    """A header as a page: what stands on top of it, then its sections."""
    include = f"<omnipgas/{header.name}>"
    out = [f"{include}\n{'=' * len(include)}", marked(lists(header.text), functions)]
    internal = header.name == "ompl_inline.h"  # nothing of it is for use but the functions of ompl.h
    for section in [] if internal else header.sections:
        if section.title:
            out += [f"{section.title}\n{'-' * len(section.title)}", marked(section.text, functions)]
        for item in section.items:
            text = marked(item.comment, functions)
            code = item.code.replace("OMPL_API ", "")
            if not item.functions:
                block = f"{text}\n\n.. code-block:: c\n\n{indented(code)}"
                name = TYPE.search(code)
                out.append(f".. c:type:: {name[1]}\n\n{indented(block)}" if name else block)
                continue
            heads = [" ".join(piece.split()) for piece in code.strip().rstrip(";").split(";\n")]
            text = text or f"As :c:func:`{contract.namesakes(item.functions[0])[0]}`."
            out.append(".. c:function:: " + "\n                ".join(heads) + "\n\n" + indented(text))
    return "\n\n".join(out) + "\n"


def lists(text: str) -> str:
    """A list needs an empty line before it, and none of the margin of the comment."""
    return re.sub(r"^   (?=\S)", "  ", re.sub(r"\n(?= - )", "\n\n", text), flags=re.MULTILINE)


def write_sources(source: Path) -> None:
    names = pages()
    for path, name in names.items():
        target = source / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(linked(path, names))
    for kind in ("svg", "png"):
        for picture in (ROOT / "docs").rglob(f"*.{kind}"):
            shutil.copy(picture, source / picture.relative_to(ROOT / "docs"))
    headers = contract.contract()
    functions = contract.exported(headers)
    (source / "api").mkdir()
    for header in headers:
        (source / f"api/{Path(header.name).stem}.rst").write_text(api_page(header, functions))
    written = sorted(names.values())
    for folder in FOLDERS:
        inside = [name.removeprefix(f"{folder}/") for name in written if name.startswith(f"{folder}/")]
        with (source / f"{folder}/index.md").open("a") as index:
            index.write(contents("", [name for name in inside if name != "index"]))
    rest = [name for name in written if name != "index" and not name.startswith(FOLDERS)]
    with (source / "index.md").open("a") as index:
        index.write(contents("Documentation", [f"{folder}/index" for folder in FOLDERS]))
        index.write(contents("Interface", [f"api/{Path(header.name).stem}" for header in headers]))
        index.write(contents("Project", rest))


def main(out: Path) -> int:
    program = shutil.which("sphinx-build")
    if program is None:
        print("sphinx-build is not installed (Debian: python3-sphinx, python3-myst-parser, furo)")
        return SKIPPED
    source = out / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    write_sources(source)
    (source / "conf.py").write_text(CONFIGURATION.format(version=contract.version()))
    shutil.rmtree(out / "html", ignore_errors=True)
    command = [program, "-q", "-W", "--keep-going", "-d", f"{out}/doctrees", str(source), f"{out}/html"]
    status = subprocess.run(command, timeout=LIMIT_S, check=False).returncode
    if status == 0:
        print(f"{out}/html/index.html")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

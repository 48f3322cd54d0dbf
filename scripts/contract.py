# SPDX-License-Identifier: BSD-3-Clause
"""Reads the public C headers: what stands in them, section by section, with the comments. The man pages, the
site and the check of the interface are made from this, so that the headers stay the only text."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the order in which one reads them.
HEADERS = (
    "ompl.h", "ompl_ext.h", "ompl_memory.h", "ompl_calls.h", "ompl_report.h", "halo.h", "coll.h", "ompl_inline.h",
)  # fmt: skip

PROTOTYPE = re.compile(r"^OMPL_API\b[^;{]*?\b(ompl_\w+)\(", re.MULTILINE)
VARIABLE = re.compile(r"^extern OMPL_API\b[^;{]*?\b(ompl_\w+)(?=\s*(?:;|__attribute__))", re.MULTILINE)


@dataclass
class Item:
    """A comment and the declarations right under it; either may be empty."""

    comment: str
    code: str

    @property
    def functions(self) -> list[str]:
        return PROTOTYPE.findall(self.code)


@dataclass
class Section:
    title: str
    text: str
    items: list[Item] = field(default_factory=list)


@dataclass
class Header:
    name: str
    text: str  # the comment on top
    sections: list[Section]


def plain(comment: str) -> str:
    """The text between /* and */ without its margin of stars; paragraphs are separated by empty lines."""
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in comment.split("\n")]
    return "\n".join(lines).strip()


def read(path: Path) -> Header:
    """The header, cut up."""
    whole = path.read_text()
    top = plain(re.findall(r"/\*(.*?)\*/", whole, re.DOTALL)[1])
    body = whole.split('extern "C" {\n#endif\n', 1)[1].rsplit("#ifdef __cplusplus", 1)[0]
    header = Header(path.name, top, [Section("", "")])
    # Comments, and pieces of code up to an empty line outside of braces.
    comment, code, depth = "", "", 0
    lines = iter(body.split("\n"))
    for line in lines:
        if not code and line.startswith("/*"):
            text = line
            while "*/" not in text:
                text += "\n" + next(lines)
            comment = text.strip().removeprefix("/*").removesuffix("*/")
            if comment.lstrip().startswith("----"):
                title, _, rest = plain(comment.split("\n", 1)[1]).partition("\n")
                header.sections.append(Section(title, rest.strip()))
                comment = ""
        elif line or depth:
            code += line + "\n"
            depth += line.count("{") - line.count("}")
        else:
            header.sections[-1].items += items(plain(comment), code)
            comment, code = "", ""
    return header


def items(comment: str, code: str) -> list[Item]:
    """The items of one piece; prototypes that share no comment stand for themselves."""
    if comment or not PROTOTYPE.search(code):
        return [Item(comment, code)] if code else []
    return [Item("", piece) for piece in re.split(r"(?<=;\n)", code) if piece]


def contract(include: Path = ROOT / "include/omnipgas") -> list[Header]:
    return [read(include / name) for name in HEADERS]


def exported(headers: list[Header]) -> set[str]:
    """The names of everything that the headers promise the library to export."""
    code = "\n".join(item.code for header in headers for section in header.sections for item in section.items)
    return set(PROTOTYPE.findall(code)) | set(VARIABLE.findall(code))


def version() -> str:
    """OMPL_VERSION_TEXT."""
    found = re.search(r'OMPL_VERSION_TEXT "([^"]+)"', (ROOT / "include/omnipgas/ompl.h").read_text())
    assert found, "ompl.h says no version"
    return found[1]


def promised(path: Path = ROOT / "src/libomnipgas.map") -> dict[str, str]:
    """The symbols of the version script, each with the block that it stands in."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    blocks = re.findall(r"^(\w[\w.]*) \{\s*global:(.*?)(?:local:.*?)?\}[^;]*;", text, re.MULTILINE | re.DOTALL)
    return {name: block for block, names in blocks for name in re.findall(r"[\w*]+", names)}


def namesakes(name: str) -> list[str]:
    """Whose comment serves a function that has none: the rule that tests/style/tree.py holds."""
    names = [name.replace("ompl_ctx_", "ompl_").removesuffix("_timed"), name.replace("64", "32")]
    return [other for other in names if other != name]

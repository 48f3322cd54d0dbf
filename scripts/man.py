#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""man.py functions OUT | tool OUT PROGRAM | omni OUT | environment OUT OMPL_INFO

Writes manual pages below OUT (man1, man3, man7). The pages of functions say what the comments of the public
headers say, those of tools what --help says, ompl-environment(7) what ompl-info says of the variables: there is
no text of their own to grow old.
"""

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import contract

WORDS = re.compile(r"`([^`]+)`|\b(ompl_[a-z_0-9]+)(\(\))?|\b(OMPL_[A-Z_0-9]+)\b|(\[OMPL\] )")
CODE = re.compile(r"\bOMPL_ERR_[A-Z]+\b")
LIMIT_S = 60
LIBRARY = "OmniPGAS (\\fIlibomnipgas\\fP, \\fB\\-lomnipgas\\fP)"


def escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def styled(text: str, pages: frozenset[str] = frozenset()) -> str:
    """One paragraph: what is named in it in bold, arguments in italics, functions with their section."""

    def style(match: re.Match[str]) -> str:
        argument, name, call, constant, _ = match.groups()
        if argument:
            return f"\\fI{argument}\\fP"
        if name and (call or name in pages):
            return f"\\fB{name}\\fP(3)" if name in pages else f"\\fB{name}\\fP()"
        return f"\\fB{name or constant}\\fP" if name or constant else ""

    return wrapped(WORDS.sub(style, text.replace("\\", "\\e")))


def wrapped(text: str) -> str:
    """Lines of at most 78 characters; none begins with what troff takes for a request."""
    lines = textwrap.wrap(" ".join(text.split()), 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line for line in lines)


def prose(text: str, pages: frozenset[str]) -> str:
    """Paragraphs, and lists of lines that begin with a dash."""
    out: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?= *- )", text):
        words = paragraph.strip()
        if words:
            head = ".IP \\- 2\n" if words.startswith("- ") else ".PP\n"
            out.append(head + styled(words.removeprefix("- "), pages))
    return "\n".join(out).removeprefix(".PP\n")


def listing(code: str) -> str:
    return f".nf\n{escape(code.rstrip())}\n.fi"


def terms(rows: list[tuple[str, str]]) -> str:
    """A list of terms and what they mean."""
    return "\n".join(f".TP\n\\fB{escape(term)}\\fP\n{text}" for term, text in rows)


class Shelf:
    """Where pages go."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.source = f"OmniPGAS {contract.version()}"
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        self.date = time.strftime("%Y-%m-%d", time.gmtime(epoch))

    def write(self, name: str, section: int, brief: str, parts: list[tuple[str, str]]) -> None:
        """One page; parts that are empty are left out."""
        folder = self.out / f"man{section}"
        folder.mkdir(parents=True, exist_ok=True)
        title = name.split(",")[0]
        brief = re.sub(r"\\f[BIP]|\(3\)", "", " ".join(brief.split())).rstrip(".")
        text = f'.TH {title.upper()} {section} {self.date} "{self.source}" "OmniPGAS"\n'
        text += f".SH NAME\n{name} \\- {brief}\n"
        text += "".join(f".SH {head}\n{body}\n" for head, body in parts if body)
        (folder / f"{title}.{section}").write_text(text)

    def alias(self, name: str, page: str, section: int) -> None:
        (self.out / f"man{section}/{name}.{section}").write_text(f".so man{section}/{page}.{section}\n")


def references(names: list[tuple[str, int]]) -> str:
    rows = sorted(set(names), key=lambda row: (row[1], row[0]))
    return ",\n".join(f".BR {name} ({section})" for name, section in rows).replace(",\n", " ,\n")


def prototypes(item: contract.Item) -> str:
    """As a reader wants them: without the mark of the interface, and moved to the left by its width."""
    return re.sub(r"^(OMPL_API | {9})", "", item.code, flags=re.MULTILINE)


@dataclass
class Function:
    """Everything that is said about the functions of one item."""

    header: contract.Header
    section: contract.Section
    item: contract.Item
    text: str


class Manual:
    """The pages of section 3."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.headers = contract.contract()
        items = [
            (header, section, item)
            for header in self.headers
            for section in header.sections
            for item in section.items
        ]
        self.functions: list[Function] = []
        said: dict[str, str] = {}
        before = ""
        for header, section, item in items:
            if not item.functions:
                continue
            text = item.comment
            if text.startswith("The same"):
                text = f"{before}\n\n{text}"
            if not text:
                names = contract.namesakes(item.functions[0])
                same = next(name for name in names if name in said)
                text = f"As {same}(), with the context and the time limit described below.\n\n{said[same]}"
            before = text
            said |= dict.fromkeys(item.functions, text)
            self.functions.append(Function(header, section, item, text))
        self.pages = frozenset(said)
        self.declared = [item for _, _, item in items if not item.functions]
        self.meaning = self._meanings()
        results = re.search(r"^Common errors: (.*?)\.\n*\Z", self._section("papers'").text, re.S | re.M)
        assert results, "ompl.h has no common errors"
        self.common = CODE.findall(results[1])

    def _section(self, word: str) -> contract.Section:
        return next(s for header in self.headers for s in header.sections if word in s.title)

    def _meanings(self) -> dict[str, str]:
        """What the comments beside the result codes say."""
        code = "".join(item.code for item in self.declared)
        return dict(re.findall(r"\b(OMPL_ERR_[A-Z]+) = -\d+,? +/\* (.*?) \*/", code))

    def errors(self, function: Function) -> list[str]:
        """The codes that a function may return, as far as the header names them."""
        codes = CODE.findall(function.text)
        if "Errors:" not in function.item.comment:
            codes += CODE.findall(function.section.text)
        if "Errors:" not in function.text:
            for name in contract.namesakes(function.item.functions[0]):
                codes += [c for f in self.functions if name in f.item.functions for c in self.errors(f)]
            if function.header.name == "ompl_ext.h" and "int ompl" in function.item.code:
                codes += [*self.common, "OMPL_ERR_ARG", "OMPL_ERR_TIMEOUT"]
        if "timeout_ns" not in function.item.code:
            codes = [code for code in codes if code != "OMPL_ERR_TIMEOUT"]
        return [code for code in self.meaning if code in codes]

    def types(self, function: Function) -> str:
        """The declarations of what the prototypes name, with their comments."""
        out = []
        for item in self.declared:
            name = re.search(r"(?:\bstruct |\(\*)(ompl_\w+)", item.code)
            constants = item.code.startswith(("enum", "#define")) and item in function.section.items
            constants &= function.header.name != "ompl_inline.h"
            used = name and re.search(rf"\b{name[1]}\b", function.item.code)
            if (used or constants) and CODE.search(item.code) is None:
                out.append((prose(item.comment, self.pages) + "\n" if item.comment else "") + listing(item.code))
        return "\n.PP\n".join(out)

    def page(self, function: Function) -> None:
        names = function.item.functions
        description, _, rest = function.text.partition("Errors: ")
        around = function.section.text.partition("Common errors: ")[0]
        text = prose(f"{description}\n\n{around}", self.pages)
        if rest and not re.fullmatch(r"(OMPL_\w+(, |\.)?\s*)*", rest):
            text += "\n.PP\n" + styled(f"Errors: {rest}", self.pages)
        general = next(p for p in self.headers[0].text.split("\n\n") if p.startswith("Errors. "))
        brief = re.split(r"(?<=[a-z)])[.:;] ", " ".join(function.text.split()))[0].removeprefix("[OMPL] ")
        synopsis = f"#include <omnipgas/{function.header.name}>\n\n"
        synopsis += prototypes(function.item)
        seen = [name for name in re.findall(r"ompl_\w+", function.text) if name in self.pages]
        seen += [name for item in function.section.items for name in item.functions[:1]]
        also = [(name, 3) for name in seen if name not in names] + [("omnipgas", 3), ("ompl-environment", 7)]
        returns = general.removeprefix("Errors. ") if "int ompl" in function.item.code else ""
        parts = [
            ("LIBRARY", LIBRARY),
            ("SYNOPSIS", listing(synopsis)),
            ("DESCRIPTION", text),
            ("TYPES AND CONSTANTS", self.types(function)),
            ("RETURN VALUE", prose(returns, self.pages)),
            ("ERRORS", terms([(code, styled(self.meaning[code])) for code in self.errors(function)])),
            ("SEE ALSO", references(also)),
        ]
        self.shelf.write(", ".join(names), 3, styled(brief, self.pages), parts)
        for name in names[1:]:
            self.shelf.alias(name, names[0], 3)

    def overview(self) -> None:
        """omnipgas(3): what stands on top of the headers, and the list of all functions."""
        parts = [("LIBRARY", LIBRARY)]
        parts.append(("SYNOPSIS", listing("".join(f"#include <omnipgas/{h.name}>\n" for h in self.headers))))
        for header in self.headers:
            title = "DESCRIPTION" if header is self.headers[0] else header.name.upper()
            parts.append((title, prose(self.subsections(header.text), self.pages).replace(".PP\n.SS", ".SS")))
        parts.append(("FUNCTIONS", "\n".join(self.index())))
        brief = self.headers[0].text.split(":")[0]
        parts.append(("SEE ALSO", references([("omplrun", 1), ("ompl-info", 1), ("ompl-environment", 7)])))
        self.shelf.write("omnipgas", 3, styled(brief), parts)

    @staticmethod
    def subsections(text: str) -> str:
        """Paragraphs that begin with one word and a full stop are about that word."""
        return re.sub(r"^([A-Z][a-z]+(?: rules)?)\.\s", r"\1:\n", text, flags=re.M)

    def index(self) -> Iterator[str]:
        for header in self.headers:
            for section in header.sections:
                names = [(name, 3) for item in section.items for name in item.functions]
                if names:
                    title = section.title or header.name
                    yield f".SS {title}\n{references(names)}"

    def write(self) -> None:
        for page in self.shelf.out.glob("man3/*"):  # of functions that are no more
            page.unlink()
        self.overview()
        for function in self.functions:
            self.page(function)


def output(*command: str) -> str:
    """What a tool says, without the variables of the caller."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OMPL_")}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=LIMIT_S, env=clean | {"COLUMNS": "80"}
    )
    return done.stdout


def listing_of(text: str, first: str) -> str:
    """The list of terms, which begin with that pattern, of a part of --help."""
    found = re.findall(rf"^  ({first}.*?)  +(.*(?:\n {{10}}.*)*)", text, re.MULTILINE)
    return terms([(term, wrapped(escape(meaning))) for term, meaning in found])


def tool(shelf: Shelf, program: str) -> None:
    """The page of a tool of ours from its --help: what it is, usage, options, and what stands after them."""
    name = Path(program).name
    text, _, rest = output(program, "--help").partition("\nOptions:\n")
    what, _, usage = text.partition("\nUsage: ")
    options, _, after = rest.partition("\n\n")
    line = re.match(rf"({name} [^:]*): (.*)", what, re.DOTALL)
    synopsis = line[1] if line else usage.strip().replace(program, name)
    sections = []
    for block in after.strip().split("\n\n"):
        head, _, end = block.partition(":")
        listed = listing_of(end, r"\w") if head == "Subcommands" else ""
        sections.append((head.upper(), listed or wrapped(escape(end))))
    also = [(other, 1) for other in ("omplrun", "ompl-info") if other != name]
    brief = line[2] if line else what
    parts = [
        ("SYNOPSIS", wrapped(f"\\fB{escape(name)}\\fP{escape(synopsis.removeprefix(name))}")),
        ("DESCRIPTION", wrapped(escape(brief[:1].upper() + brief[1:]))),
        ("OPTIONS", listing_of(options, "-")),
        *sections,
        ("SEE ALSO", references([*also, ("omnipgas", 3), ("ompl-environment", 7)])),
    ]
    shelf.write(name, 1, escape(brief.split(".")[0]), parts)


def omni(shelf: Shelf) -> None:
    """omni(1) and a page for each of its commands, from the objects behind --help."""
    import typer.main
    from omnipgas_tools.cli import app

    _omni_page(shelf, "omni", typer.main.get_command(app), [("omplrun", 1)])


def _omni_page(shelf: Shelf, name: str, command: Any, above: list[tuple[str, int]]) -> None:
    """The page of a command and of those below it; `above`: pages that it names besides."""
    page = name.replace(" ", "-")
    context = command.context_class(command, info_name=name)
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    known = getattr(command, "commands", {})  # typer hides which commands are groups
    below = {word: each for word, each in known.items() if not each.hidden}
    pages = [(f"{page}-{word}", 1) for word in below]
    usage = " ".join([f"\\fB{name}\\fP", *map(escape, command.collect_usage_pieces(context))])
    parts = [
        ("SYNOPSIS", usage),
        ("DESCRIPTION", wrapped(escape(command.help or ""))),
        ("COMMANDS", terms([(word, wrapped(escape(each.short_help or each.help))) for word, each in below.items()])),
        ("OPTIONS", terms([(record[0], wrapped(escape(record[1]))) for record in records if record])),
        ("EXAMPLES", listing(example(command.epilog)) if command.epilog else ""),
        ("SEE ALSO", references([*above, *pages])),
    ]
    shelf.write(page, 1, escape((command.help or "").split(". ")[0]), parts)
    for word, each in below.items():
        _omni_page(shelf, f"{name} {word}", each, [(page, 1)])


def example(epilog: str) -> str:
    """The lines of --help that stand below the word Examples."""
    return textwrap.dedent(epilog.partition("Examples:\n")[2])


def environment(shelf: Shelf, info: str) -> None:
    """ompl-environment(7) from the table that ompl-info prints."""
    rows = []
    for name, said, kind, default in re.findall(
        r"^  (OMPL_\w+) +(.*) \(type (.*), default (.*)\)$", output(info, "--variables"), re.MULTILINE
    ):
        text = wrapped(escape(said.removeprefix(default).strip()))
        rows.append((name, f"{text}\n.br\nType: {escape(kind)}. Default: {escape(default)}."))
    assert rows, "ompl-info names no variable"
    about = (
        "Every variable of the library. Each is read once, in ompl_init(); later changes have no effect. Only "
        "OMPL_LOG counts from the first call on. A value that is not usable is an error: ompl_init() returns "
        "OMPL_ERR_ARG, and the message says what is accepted. A variable whose name differs from one of these in "
        "one or two characters has no effect, and a warning says so; other OMPL_* variables are ignored in "
        "silence. A process with more rights than its user (set-user-ID, file capabilities) ignores all.\n\n"
        "A size is a number of bytes; K, M, G or T after it multiplies by a power of 1024. A count is a whole "
        "number. Seconds may have a fraction. A list separates its names by commas: a name that is unknown is an "
        "error, one that this build lacks a warning. Other types name the values that may be chosen. Types of "
        "numbers say their range."
    )
    parts = [
        ("DESCRIPTION", prose(about, frozenset())),
        ("VARIABLES", terms(rows)),
        ("SEE ALSO", references([("ompl-info", 1), ("omplrun", 1), ("omnipgas", 3)])),
    ]
    shelf.write("ompl-environment", 7, "variables that the OmniPGAS library reads", parts)


def main(kind: str, out: str, *arguments: str) -> None:
    shelf = Shelf(Path(out))
    if kind == "functions":
        Manual(shelf).write()
    elif kind == "omni":
        omni(shelf)
    else:
        {"tool": tool, "environment": environment}[kind](shelf, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])

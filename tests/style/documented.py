#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""documented.py ROOT: every public name says what it is. In C each function, type, enumeration and macro of the headers
has a comment of its own, or is of a function's family that has one (contract.namesakes); in C++ each type and each
function that no function of C says all about; in Python each function, class and method. Counts them by language.

documented.py ROOT --self-test   names without a comment are found"""

import ast
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
import contract  # noqa: E402

# A line of a C++ header, at its outermost or in a class, that begins a type or a function.
TYPE = re.compile(r"^(?:class|struct|enum class|concept) (\w+)(?!.*;$)")
FUNCTION = re.compile(
    r"^(?:\[\[\w+(?:::\w+)?\]\] )?(?:inline|constexpr|template|explicit|static|auto|void|bool|std::\S+) .*?\b(\w+)\("
)
ON_TOP = {"co_await", "ConditionAwaiter", "HandleAwaiter"}  # the top of ompl_ext.hpp says what they do
NO_NAMES = re.compile(r"#(?:ifn?def|if|else|endif|undef)\b.*")


def of_c(include: Path) -> Iterator[tuple[str, bool]]:
    """The names of the C headers, each with whether it is documented; of ompl_inline.h functions alone."""
    headers = contract.contract(include)
    said = {name for h in headers for s in h.sections for i in s.items if i.comment for name in i.functions}
    for header in headers:
        for section in header.sections:
            for item in section.items:
                for name in item.functions:
                    yield name, bool(item.comment) or bool(said & set(contract.namesakes(name)))
                code = NO_NAMES.sub("", item.code).strip()
                if not item.functions and code and header.name != "ompl_inline.h":
                    names = re.findall(r"\b(ompl_\w+|OMPL_\w+)\b", code)
                    yield f"{header.name}: {names[0] if names else code}", bool(item.comment) or "/*" in code


def of_cpp(include: Path) -> Iterator[tuple[str, bool]]:
    """The types and functions of the C++ headers. A comment stands for the block of declarations right under it."""
    functions = {name.removeprefix("ompl_") for name in contract.exported(contract.contract(include))}
    functions |= {name.removeprefix("ctx_") for name in functions} | {f"{name}_for" for name in functions}
    for header in sorted(include.glob("*.hpp")):
        covered = inside = False
        for line in header.read_text().splitlines():
            inside = line.startswith("namespace detail {") or (inside and not line.startswith("}  // namespace detail"))
            if line.startswith("//"):
                covered = True
            elif not line:
                covered = False
            elif not inside and (match := TYPE.match(line) or FUNCTION.match(line)):
                yield f"{header.name}: {match[1]}", covered or match[1] in functions | ON_TOP


def of_python(package: Path) -> Iterator[tuple[str, bool]]:
    """The functions, classes and methods of the package's modules whose names are public."""

    def below(node: ast.Module | ast.ClassDef, place: str) -> Iterator[tuple[str, bool]]:
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and each.name[0] != "_":
                yield f"{place}{each.name}", ast.get_docstring(each) is not None
                if isinstance(each, ast.ClassDef):
                    yield from below(each, f"{place}{each.name}.")

    for path in sorted(package.glob("*.py")):
        if path.name[0] != "_":
            yield from below(ast.parse(path.read_text()), f"{path.stem}.")


def check(root: Path) -> list[str]:
    """The names that nothing is said of; prints them, and the counts."""
    bare: list[str] = []
    for language, names in (
        ("C", of_c(root / "include/omnipgas")),
        ("C++", of_cpp(root / "include/omnipgas")),
        ("Python", of_python(root / "bindings/python/omnipgas")),
    ):
        found = list(names)
        here = [f"{language}: {name} has no comment" for name, documented in found if not documented]
        print(*here, f"{language}: {len(found) - len(here)} of {len(found)} public names are documented", sep="\n")
        bare += here if found else [f"{language}: no names found"]
    return bare


# Comments that a copy of the tree loses one by one, with the name that is then found.
SEEDS = (
    ("include/omnipgas/ompl.h", " /* a context; ompl_ctx_create() makes one */", "ompl.h: ompl_ctx"),
    ("include/omnipgas/ompl.h", "/* The number of ranks of the job, or OMPL_ERR_STATE. Any thread. */\n", "ompl_size"),
    ("include/omnipgas/ompl.hpp", "// One element, copied from `source`.\n", "ompl.hpp: put_value"),
    ("include/omnipgas/ompl_ext.hpp", "// Signals that add `value` to a word, or set it.\n", "adding"),
    ("bindings/python/omnipgas/layer.py", '    """The type of the elements, as in NumPy."""\n', "Array.dtype"),
)


def self_test(root: Path) -> int:
    failed = 0
    for name, comment, wanted in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("include", "bindings/python/omnipgas"):
                shutil.copytree(root / part, Path(folder, part))
            path = Path(folder, name)
            text = path.read_text()
            path.write_text(text.replace(comment, ""))
            found = check(Path(folder))
            if comment not in text or not found or wanted not in found[0]:
                failed += 1
                print(f"FAILED: {wanted}: found {found}")
    print(f"self-test: {len(SEEDS) - failed} of {len(SEEDS)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(self_test(ROOT) if sys.argv[2:] == ["--self-test"] else bool(check(ROOT)))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tree's rules that no compiler checks: who may include whom, where getenv() may stand, how much
may hang on the preprocessor, what must be documented, how long a file may be.

tree.py ROOT         prints every violation as FILE:LINE: text and a report of lengths; status 1 if any
tree.py --self-test  seeds violations of every rule in a small tree: all must be found, and nothing else
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE_FOLDERS = (
    "include", "src", "clients", "bindings", "tools", "instruments", "examples", "tests", "scripts", "packaging",
)  # fmt: skip
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".f90", ".py", ".sh", ".pml"}
MAX_LINES = 500
MAX_CONDITIONALS = 0.02

INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
TYPE = re.compile(r"(?:class|struct|enum class|union) (?:alignas\(.*?\) )?(\w+)(?: final)?(?: : .*)?\s*(?:\{.*)?$")
CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")
GETENV = re.compile(r"\b(secure_)?getenv\s*\(")

CONDUIT_CONTRACT = {"conduit/conduit.hpp", "conduit/registry.hpp"}
GROUND = {"util/", "arch/"}
# What a file of a layer may include besides its own folder and the public headers: only what is below.
MAY_INCLUDE: dict[str, set[str]] = {
    "src/util": GROUND,
    "src/arch": GROUND,
    "src/bootstrap": GROUND,
    "src/conduit": GROUND | CONDUIT_CONTRACT | {"conduit/common/"},
    "src/core": GROUND | CONDUIT_CONTRACT | {"bootstrap/bootstrap.hpp"},
    "src/halo": GROUND | {"core/"},
    "src/coll": GROUND | {"core/"},
    "src/api": GROUND | CONDUIT_CONTRACT | {"core/", "halo/", "coll/", "bootstrap/bootstrap.hpp"},
    # Users of include/ alone.
    "clients": set(),
    "bindings": set(),
    "instruments": set(),
    "examples": set(),
}
# Type names that stand more than once below src/, and why.
SISTERS = "every conduit has one: the same files and roles in each conduit's folder"
SAME_NAME: dict[str, str] = dict.fromkeys(
    ("Address", "Connections", "Library", "Message", "Resources", "SharedState", "WaitSet"), SISTERS
)
# Files that stand twice, since one side may not include the other's; only their first two lines differ.
TWINS = (("src/util/printable.hpp", "instruments/common/printable.hpp"),)
LAYERS = ("util/", "arch/", "bootstrap/", "conduit/", "core/", "halo/", "coll/", "api/")


@dataclass(frozen=True)
class Violation:
    path: Path
    line: int
    text: str


def files(root: Path, *folders: str) -> Iterator[tuple[Path, list[str]]]:
    """The source files below the folders, relative to root, with their lines."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root), path.read_text().splitlines()


def include_allowed(path: Path, target: str) -> bool:
    """Whether the file may include "target", which names a layer below src/."""
    layer = next((name for name in MAY_INCLUDE if path.is_relative_to(name)), None)
    if layer is None or path == Path("src/conduit/registry.cpp") or "tests" in path.parts:
        return True
    if layer == "src/conduit":  # a conduit knows itself and what all share, not its sisters
        if target.startswith("/".join(path.parts[1:3]) + "/"):
            return True
    elif layer.startswith("src/") and target.startswith(layer.removeprefix("src/") + "/"):
        return True
    return any(target == allowed or target.startswith(allowed) for allowed in MAY_INCLUDE[layer])


def layers(root: Path) -> Iterator[Violation]:
    for path, lines in files(root, *MAY_INCLUDE):
        for number, line in enumerate(lines, 1):
            match = INCLUDE.search(line)
            if not match or not match[1].startswith(LAYERS):
                continue
            here = root.joinpath(*path.parts[:2], match[1])  # instruments/bench has folders of those names too
            if not here.is_file() and not include_allowed(path, match[1]):
                yield Violation(path, number, f'includes "{match[1]}", which is not below it')


def type_names(root: Path) -> Iterator[Violation]:
    """A type of a namespace has one definition below src/, so that its name says which it is."""
    places: dict[str, list[tuple[Path, int]]] = {}
    for path, lines in files(root, "src"):
        if "tests" not in path.parts:
            for number, line in enumerate(lines, 1):
                if match := TYPE.match(line):
                    places.setdefault(match[1], []).append((path, number))
    for name, found in sorted(places.items()):
        if len(found) > 1 and name not in SAME_NAME:
            for path, number in found[1:]:
                text = f"{name} is also a type of {found[0][0]}: rename it, or say why in tree.py"
                yield Violation(path, number, text)


def environment(root: Path) -> Iterator[Violation]:
    for path, lines in files(root, "src", "tools"):
        for number, line in enumerate(lines, 1):
            found = GETENV.search(line.split("//")[0])
            if found and not found[1] and "tests" not in path.parts:
                yield Violation(path, number, "calls getenv(): a set-user-ID program needs secure_getenv()")
        if path == Path("src/util/settings.cpp") or path.is_relative_to("src/bootstrap") or "tests" in path.parts:
            continue
        for number, line in enumerate(lines, 1):
            if GETENV.search(line.split("//")[0]):
                yield Violation(path, number, "calls getenv(); settings.cpp declares every variable")


def conditionals(root: Path) -> Iterator[Violation]:
    total, worst, where = 0, 0, Path()
    found = 0
    for path, lines in files(root, "include", "src", "tools"):
        if path.is_relative_to("src/arch") or path.is_relative_to("src/conduit"):
            continue
        here = sum(bool(CONDITIONAL.match(line)) for line in lines)
        total, found = total + len(lines), found + here
        if here > worst:
            worst, where = here, path
    if found > MAX_CONDITIONALS * total:
        text = f"{found} of {total} lines are preprocessor conditionals, {worst} of them here"
        yield Violation(where, 1, f"{text}; 2 % is the limit")


def prototypes(root: Path) -> Iterator[Violation]:
    """Each OMPL_API prototype has its comment right above it, or is ompl_ctx_X or ompl_X_timed of a
    documented ompl_X, or X64 of a documented X32."""
    seen: list[tuple[Path, int, str, bool]] = []
    for path, lines in files(root, "include"):
        for number, line in enumerate(lines, 1):
            match = re.match(r"OMPL_API\b.*?\b(ompl_\w+)\(", line)
            if match:
                seen.append((path, number, match[1], lines[number - 2].rstrip().endswith("*/")))
    documented = {name for _, _, name, comment in seen if comment}
    for path, number, name, comment in seen:
        namesakes = {name.replace("ompl_ctx_", "ompl_").removesuffix("_timed"), name.replace("64", "32")}
        if not comment and not (namesakes - {name}) & documented:
            yield Violation(path, number, f"{name} has no comment above it")


def licences(root: Path) -> Iterator[Violation]:
    for path, lines in files(root, *SOURCE_FOLDERS):
        if lines and not any("SPDX-License-Identifier: BSD-3-Clause" in line for line in lines[:3]):
            yield Violation(path, 1, "has no SPDX-License-Identifier line on top")


def lengths(root: Path) -> Iterator[Violation]:
    for path, lines in files(root, *SOURCE_FOLDERS):
        limit = 80 if path.parts[0] == "examples" else MAX_LINES
        if len(lines) > limit:
            yield Violation(path, 1, f"has {len(lines)} lines; {limit} is the limit")


def twins(root: Path) -> Iterator[Violation]:
    for names in TWINS:
        one, other = (Path(name) for name in names)
        if not (root / one).exists() or not (root / other).exists():
            continue
        texts = [(root / path).read_text().split("\n", 2)[2:] for path in (one, other)]
        if texts[0] != texts[1]:
            yield Violation(other, 3, f"is no longer the same as {one}")


RULES: list[Callable[[Path], Iterator[Violation]]] = [
    layers, type_names, environment, conditionals, prototypes, licences, lengths, twins,
]  # fmt: skip


def check(root: Path) -> int:
    violations = [violation for rule in RULES for violation in rule(root)]
    for violation in violations:
        print(f"{violation.path}:{violation.line}: {violation.text}")
    sizes = sorted(((len(lines), path) for path, lines in files(root, *SOURCE_FOLDERS)), reverse=True)
    if not sizes:
        print(f"no source files below {root}")
        return 1
    median = sizes[len(sizes) // 2][0]
    print(f"{len(sizes)} files, {len(violations)} violations; median length {median}, the longest:")
    for size, path in sizes[:5]:
        print(f"  {size:5} {path}")
    return 1 if violations else 0


SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
CLEAN = {
    "include/omnipgas/ompl.h": SPDX + "/* Puts. */\nOMPL_API int ompl_put(int);\n\n"
    "OMPL_API int ompl_ctx_put(int);\nOMPL_API int ompl_put_timed(int);\n" + "\n" * 99,
    "src/core/a.cpp": SPDX + '#include "conduit/conduit.hpp"\n#include "core/a.hpp"\n',
    "src/conduit/shm/a.cpp": SPDX + '#include "conduit/shm/a.hpp"\n#ifdef X\n#endif\n',
    "src/conduit/registry.cpp": SPDX + '#include "conduit/shm/a.hpp"\n',
    "src/util/settings.cpp": SPDX + 'auto* v = secure_getenv("OMPL_LOG");\n',
    "src/core/a.hpp": SPDX + "class A;\nclass B {\n",
    "src/util/a.hpp": SPDX + "struct A {\n",
    "src/conduit/shm/tests/a.cpp": SPDX + '#include "core/a.hpp"\n',
    "instruments/bench/halo/a.hpp": SPDX,
    "src/util/printable.hpp": SPDX + "// Of the layer.\nint a;\n",
    "instruments/common/printable.hpp": SPDX + "// Of instruments.\nint a;\n",
    "instruments/bench/halo/a.cpp": SPDX + '#include "halo/a.hpp"\n',
}
SEEDS: dict[str, dict[str, str]] = {
    "layers": {
        "src/core/b.cpp": SPDX + '#include "conduit/shm/a.hpp"\n',
        "src/util/b.cpp": SPDX + '#include "core/a.hpp"\n',
        "src/conduit/mock/b.cpp": SPDX + '#include "conduit/shm/a.hpp"\n',
        "src/conduit/mock/c.cpp": SPDX + '#include "core/a.hpp"\n',
        "src/bootstrap/b.cpp": SPDX + '#include "core/a.hpp"\n',
        "instruments/bench/b.cpp": SPDX + '#include "util/a.hpp"\n',
        "clients/shmem/b.cpp": SPDX + '#include "core/a.hpp"\n',
        "bindings/fortran/b.c": SPDX + '#include "util/a.hpp"\n',
    },
    "type_names": {"src/util/b.hpp": SPDX + "class A final : public B {\n"},
    "environment": {
        "src/core/b.cpp": SPDX + 'auto* v = ::secure_getenv("OMPL_LOG");\n',
        "src/bootstrap/c.cpp": SPDX + 'auto* v = std::getenv("PMI_RANK");\n',
    },
    "conditionals": {"src/core/b.cpp": SPDX + "#ifdef A\n#else\n#endif\n"},
    "prototypes": {
        "include/omnipgas/b.h": SPDX + "OMPL_API int ompl_b(int);\n\n",
        "include/omnipgas/c.h": SPDX + "OMPL_API int ompl_ctx_c(int);\n\n",
    },
    "licences": {"src/core/b.cpp": "int b;\n"},
    "lengths": {
        "src/core/b.cpp": SPDX + "\n" * MAX_LINES,
        "examples/b.c": SPDX + "\n" * 80,
    },
    "twins": {"instruments/common/printable.hpp": SPDX + "// Of instruments.\nint b;\n"},
}


def findings(tree: dict[str, str]) -> set[tuple[str, str]]:
    """(rule, file) of every violation found in a tree written for the occasion."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in tree.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return {(r.__name__, v.path.as_posix()) for r in RULES for v in r(Path(folder))}


def self_test() -> int:
    failures = 0
    for rule in [None, *(rule.__name__ for rule in RULES)]:
        seeded = SEEDS[rule] if rule else {}
        found, expected = findings(CLEAN | seeded), {(rule, name) for name in seeded}
        if found != expected:
            failures += 1
            print(f"{rule or 'clean tree'}: found {sorted(found)}, not {sorted(seeded)}")
    print(f"self-test: {len(RULES) + 1 - failures} of {len(RULES) + 1} as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else check(Path(sys.argv[1])))

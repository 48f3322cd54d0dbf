#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""build_caffeine.py FOLDER --caffeine SOURCE --assert SOURCE [--compiler flang-22]: compiles the Fortran of Caffeine
(https://github.com/BerkeleyLab/caffeine) and of Assert into FOLDER/libcaffeine.a, its modules beside it. What
Caffeine's caffeine.c does is in libomnipgas-prif.so; prepare.py says what is edited of the Fortran on the way."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from prepare import SourceError, prepared

LIMIT_S = 600
DEFINES = (
    "-DASSERTIONS", "-DASSERT_MULTI_IMAGE", "-DASSERT_PARALLEL_CALLBACKS", "-DHAVE_MULTI_IMAGE_SUPPORT",
    "-DJULIENNE_PARALLEL_CALLBACKS", "-DCAF_THREAD_SAFE",
)  # fmt: skip
MODULE = re.compile(r"^\s*module\s+(\w+)\s*$", re.IGNORECASE | re.MULTILINE)
SUBMODULE = re.compile(r"^\s*submodule\s*\(\s*([\w:\s]+)\)\s*(\w+)", re.IGNORECASE | re.MULTILINE)
USE = re.compile(r"^\s*use\s*(?:,\s*non_intrinsic\s*)?(?:::)?\s*(\w+)", re.IGNORECASE | re.MULTILINE)


class BuildError(Exception):
    """A compiler's complaint."""


@dataclass(frozen=True)
class Unit:
    """A source file: the modules and submodules that it makes, and those that it wants."""

    path: Path
    makes: frozenset[str]
    wants: frozenset[str]


def unit_of(path: Path) -> Unit:
    """Read from its text, in lower case; a submodule is called by its ancestor and its own name."""
    text = path.read_text(errors="replace")
    makes = {name.lower() for name in MODULE.findall(text) if name.lower() != "procedure"}
    wants = {name.lower() for name in USE.findall(text)}
    for parents, name in SUBMODULE.findall(text):
        ancestor, *between = (part.strip().lower() for part in parents.split(":"))
        wants.add(f"{ancestor}:{between[-1]}" if between else ancestor)
        makes.add(f"{ancestor}:{name.lower()}")
    return Unit(path, frozenset(makes), frozenset(wants))


def ordered(paths: Iterable[Path]) -> list[Path]:
    """Each after those whose modules it uses."""
    left = [unit_of(path) for path in paths]
    made_here = {name for unit in left for name in unit.makes}
    done: set[str] = set()
    result = []
    while left:
        ready = [unit for unit in left if (unit.wants & made_here) - unit.makes <= done]
        if not ready:
            raise BuildError(f"modules use each other in a circle: {', '.join(unit.path.name for unit in left)}")
        for unit in ready:
            done |= unit.makes
            result.append(unit.path)
            left.remove(unit)
    return result


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints; raises BuildError."""
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, capture_output=True, timeout=LIMIT_S, check=False, cwd=folder)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"[-4000:])
    return done.stdout


def compile_all(
    paths: Iterable[Path], folder: Path, compiler: str, includes: Iterable[Path], options: Sequence[str] = ("-O2",)
) -> list[Path]:
    """The objects, in a folder of their own with the modules."""
    objects = []
    for path in ordered(paths):
        made = folder / f"{path.parent.name}-{path.stem}.o"
        flags = [*options, *DEFINES, *(f"-I{place}" for place in includes), f"-I{folder}"]
        run([compiler, "-c", *flags, path, "-o", made], folder)
        objects.append(made)
    return objects


def build(folder: Path, caffeine: Path, asserts: Path, compiler: str) -> Path:
    """libcaffeine.a, and its modules beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (caffeine / "src/prif.F90").is_file():
        raise BuildError(f"{caffeine} has no src/prif.F90: name a checkout of Caffeine")
    sources = [*sorted((asserts / "src").glob("*.F90")), *prepared(caffeine, folder / "caffeine")]
    includes = [caffeine / "include", caffeine / "src/caffeine", asserts / "include"]
    objects = compile_all(sources, folder, compiler, includes)
    library = folder / "libcaffeine.a"
    library.unlink(missing_ok=True)
    run(["ar", "rcs", library, *objects], folder)
    return library


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the library and the modules go")
    parser.add_argument("--caffeine", type=Path, required=True, help="a checkout of Caffeine 0.8")
    parser.add_argument("--assert", dest="asserts", type=Path, required=True, help="a checkout of Assert 3")
    parser.add_argument("--compiler", default="flang-22", help="flang 22 [%(default)s]")
    options = parser.parse_args()
    try:
        print(build(options.folder.resolve(), options.caffeine.resolve(), options.asserts.resolve(), options.compiler))
    except (BuildError, SourceError) as error:
        print(f"build_caffeine: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

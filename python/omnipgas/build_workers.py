# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a kind of MPI worker once per MPI found. Run by the build; standard library only.

python3 -m omnipgas.build_workers BUILD --kind bench --source mpi.cpp --depends FILE... -- COMPILER ARGUMENTS...
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from omnipgas import peers

COMPILE_LIMIT = 300  # seconds


@dataclass(frozen=True)
class Recipe:
    """What every MPI's worker is made from."""

    build: Path
    kind: str
    source: Path
    depends: list[Path]
    arguments: list[str]  # for the compiler

    def newer_than(self, program: Path, compiler: Path) -> bool:
        """Whether a program is missing, or older than anything it is made from."""
        if not program.exists():
            return True
        made = program.stat().st_mtime
        return any(path.stat().st_mtime > made for path in (self.source, compiler, *self.depends))


def compile_worker(peer: peers.Peer, recipe: Recipe) -> str:
    """Brings one worker up to date; returns a line that says what was done."""
    program = recipe.build / "bin" / peers.worker_of(peer, recipe.kind)
    try:
        prefix = peers.find_prefix(peer, recipe.build)
        compiler = peers.find_program(peer, peer.compiler, recipe.build, prefix)
    except peers.MissingError as missing:
        program.unlink(missing_ok=True)
        return f"skipped, {missing}"
    if not recipe.newer_than(program, compiler):
        return "up to date"
    # Some wrappers do not know their own place.
    place = {s.env: s.value.format(prefix=prefix) for s in peer.settings if "{prefix}" in s.value}
    partial = program.with_suffix(".new")
    done = subprocess.run(
        [compiler, recipe.source, "-o", partial, *recipe.arguments],
        env={**os.environ, **place},
        text=True,
        stderr=subprocess.PIPE,
        timeout=COMPILE_LIMIT,
        check=False,
    )
    if done.returncode != 0:
        program.unlink(missing_ok=True)
        return f"skipped, {compiler} failed:\n{done.stderr}"
    partial.replace(program)
    return f"compiled with {compiler}"


def main() -> None:
    """Compiles what is missing or old; an MPI that cannot be used is no error."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--kind", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--depends", type=Path, nargs="+", required=True)
    options = parser.parse_args(sys.argv[1:split])
    recipe = Recipe(options.build, options.kind, options.source, options.depends, sys.argv[split + 1 :])
    for name, peer in peers.table(options.build).items():
        if peer.compiler:
            print(f"{options.kind} worker {name}: {compile_worker(peer, recipe)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a kind of MPI worker once per MPI found. Run by the build; standard library only.

python3 -m omnipgas.build_workers BUILD --kind bench --source mpi.cpp --depends FILE... -- COMPILER ARGUMENTS...
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from omnipgas import peers
from omnipgas.compilers import FailedError, is_old, target_of


@dataclass(frozen=True)
class Recipe:
    """What every MPI's worker is made from."""

    build: Path
    kind: str
    source: Path
    depends: list[Path]
    arguments: list[str]  # for the compiler


def compile_worker(peer: peers.Peer, recipe: Recipe) -> str:
    """Brings one worker up to date; returns a line that says what was done."""
    program = recipe.build / "bin" / peers.worker_of(peer, recipe.kind)
    try:
        target = target_of(peer, recipe.build)
        if not is_old(program, [recipe.source, target.compiler, *recipe.depends]):
            return "up to date"
        partial = program.with_suffix(".new")
        target.run(recipe.source, "-o", partial, *recipe.arguments)
    except (peers.MissingError, FailedError) as failure:
        program.unlink(missing_ok=True)
        return f"skipped, {failure}"
    partial.replace(program)
    return f"compiled with {target.compiler}"


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

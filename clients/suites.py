# SPDX-License-Identifier: BSD-3-Clause
"""What the runners of other people's test suites share: programs, what became of them, limits, counts."""

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

STATES = ("passed", "failed", "not built", "not tried")
BAD = ("failed", "not built")
LINES = 12  # shown of what a program said that is bad


@dataclass
class Program:
    """One of the suite, with what it is compiled from."""

    part: str
    name: str
    sources: list[Path]
    options: Sequence[str] = ()


@dataclass
class Outcome:
    """What became of a program, and what was said."""

    program: Program
    state: str  # one of STATES, or built
    text: str = ""


def run(
    command: Sequence[str | Path], limit_s: int, folder: Path | None = None, **environment: str
) -> tuple[int, str]:
    """A command's exit status, and what it said; it is ended 30 s after its own limit."""
    try:
        done = subprocess.run(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s + 30,
            text=True, errors="replace", check=False, stdin=subprocess.DEVNULL, cwd=folder,
            env=os.environ | environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, "the time limit passed"
    return done.returncode, done.stdout


def build_all(programs: Iterable[Program], build: Callable[[Program], Outcome]) -> list[Outcome]:
    """Two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(build, programs))


def execute_all(built: Iterable[Outcome], execute: Callable[[Outcome], Outcome]) -> list[Outcome]:
    """One after the other, with a line for each, and the end of what bad ones said."""
    outcomes = []
    for each in built:
        outcomes.append(execute(each))
        print(f"{outcomes[-1].state}: {each.program.part}/{each.program.name}", flush=True)
        if outcomes[-1].state in BAD:
            print("\n".join(outcomes[-1].text.splitlines()[-LINES:]), flush=True)
    return outcomes


def is_bad(outcomes: Iterable[Outcome]) -> bool:
    """Whether one failed, or was not built."""
    return any(outcome.state in BAD for outcome in outcomes)


def table(outcomes: Sequence[Outcome], titles: Mapping[str, str]) -> None:
    """The counts of each part, by its title; the part "" is all of them."""
    print(f"{'':20}{''.join(f'{state:>12}' for state in STATES)}{'of':>8}")
    for part, title in titles.items():
        here = [outcome for outcome in outcomes if part in ("", outcome.program.part)]
        counts = "".join(f"{sum(outcome.state == state for outcome in here):12}" for state in STATES)
        print(f"{title:20}{counts}{len(here):8}")

# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the sources themselves: what the order of the tree saved, and how long `make check` takes."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from omnipgas_tools import CHECKOUT
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, output
from omnipgas_tools.targets.target import Target, at_least, at_most

FOLDERS = ("src", "instruments", "bindings", "tools")
BEFORE, AFTER = "799429aa", "a54ae5af"  # the tree was put in order between these commits, without new features


def lines(commit: str) -> int:
    """How many lines the text files of a commit have."""
    counts = output(["git", "-C", CHECKOUT, "grep", "-Ic", "", commit, "--", *FOLDERS], 60)
    return sum(int(line.rpartition(":")[2]) for line in counts.splitlines())


def tree(_: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Lines saved, and the folder with most files."""
    before, after = lines(BEFORE), lines(AFTER)
    yield targets[0].found(before - after, f"{before:,} and {after:,}")
    files = output(["git", "-C", CHECKOUT, "ls-files", *FOLDERS, "clients"], 60).splitlines()
    folder, count = Counter(str(PurePath(file).parent) for file in files).most_common(1)[0]
    yield targets[1].found(count, folder)


def check(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """What the last `make check` of this build folder took."""
    try:
        last = json.loads((bench.build / "results/check.json").read_text())
    except FileNotFoundError:
        raise NotMeasuredError("no `make check` has ended in this build folder") from None
    told = [f"{last[status]} {status}" for status in ("passed", "failed", "skipped")]
    told.append(f"load at its start {last['load']:.1f} on {last['cores']} cores")
    yield targets[0].found(last["seconds"] / 60, ", ".join(told))


def measurements() -> Iterator[Measurement]:
    """The group."""
    yield Measurement(
        tree,
        at_least("lines that putting the tree in order saved", 3000),
        at_most("files of the fullest folder of sources", 25),
    )
    yield Measurement(check, at_most("the last make check", 15, "min"))

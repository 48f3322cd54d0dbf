# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the comparison of all libraries: this layer against each of them, and two runs against each other.

They are read from result files of `omni pingpong --libs all` and `omni rate --libs all` (omni figures --from FILE,
--beside FILE); without them quick runs are made, whose few rounds tie what they cannot tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnipgas_tools.measure import results, runner
from omnipgas_tools.measure.results import Result
from omnipgas_tools.report.ranking import LARGE, SMALL, are_apart, contradictions, fastest, is_library
from omnipgas_tools.targets.bench import Bench
from omnipgas_tools.targets.target import Target, missing

MINE = "ompl"
BENCHES = {"pingpong": ("put", "putsignal", "sendrecv"), "rate": ("put",)}
THREADS = (1, 2, 4, 8)
SIZES = {"pingpong": runner.QUICK_SIZES, "rate": (8,)}
BANDWIDTH = 0.95
ALIKE = "pairs of libraries that two runs rank the other way round"


def comparison(bench: Bench) -> list[Target]:
    """Whether this layer is first or tied."""
    return against_all(_run(bench, 0))


def ranking(bench: Bench) -> list[Target]:
    """Whether two runs rank the libraries alike."""
    if len(bench.given) == 1:
        return [missing(ALIKE, 0, True, "of one run only: give the files of another one too (--beside)")]
    return alike(_run(bench, 0), _run(bench, 1))


def alike(first: Sequence[Result], second: Sequence[Result]) -> list[Target]:
    """How many pairs of libraries two runs rank the other way round."""
    found, both = contradictions(first, second)
    if not both:
        return [missing(ALIKE, 0, True, "no two libraries are ranked by both runs")]
    worst = "; ".join(f"{one.place}: {one.first}, {one.second}" for one in found[:3])
    return [Target(ALIKE, len(found), 0, True, note=f"of {both}" + (f"; {worst}" if worst else ""))]


def _run(bench: Bench, index: int) -> list[Result]:
    """The results of a run that was given; else of a quick one, which both groups share if it is the first."""
    if bench.given:
        bench.machine = bench.given[index]["machine"]
        return list(bench.given[index]["results"])
    while len(bench.quick) <= index:
        bench.quick.append(quick_run(bench))
    return bench.quick[index]


def quick_run(bench: Bench) -> list[Result]:
    """All libraries here, briefly."""
    rows: list[Result] = []
    for what, ops in BENCHES.items():
        contenders = [one for one in bench.contenders(list(bench.table), ops) if is_library(one.library)]
        limits = runner.QUICK if what == "pingpong" else replace(runner.QUICK, iterations=1 << 22)
        outcome = bench.run(what, contenders, THREADS, SIZES[what], limits)
        rows += map(results.from_cell, outcome.cells)
    return rows


def against_all(rows: Sequence[Result]) -> list[Target]:
    """First or tied in latency up to 4 KiB and in rate, near the first in bandwidth from 64 KiB; by thread count."""
    good = [row for row in rows if row["status"] == "ok" and "interval" in row and is_library(row["library"])]
    pings = [row for row in good if row["bench"] == "pingpong"]
    figures = []
    for threads in sorted({row["threads"] for row in pings}):
        mine = [row for row in pings if row["threads"] == threads]
        where = f"{threads} thread{'s' if threads > 1 else ''}"
        figures.append(behind(f"{where}: sizes up to 4 KiB at which another is first", _up_to(mine, SMALL)))
        figures.append(bandwidth(f"{where}: bandwidth from 64 KiB, of the first's", mine))
    rates = [row for row in good if row["bench"] == "rate" and row["op"] == "put"]
    for threads in sorted({row["threads"] for row in rates}):
        where = f"{threads} thread{'s' if threads > 1 else ''}"
        mine = [row for row in rates if row["threads"] == threads]
        figures.append(behind(f"{where}: sizes at which another has the first rate", mine))
    if not figures:
        return [missing("this layer against all libraries", 0, True, "nothing that could be compared was measured")]
    return figures


def _up_to(rows: Sequence[Result], size: int) -> list[Result]:
    return [row for row in rows if row["size"] <= size]


def _both(rows: Sequence[Result]) -> list[tuple[int, Result, Result]]:
    """By size: the fastest row of this layer, in any of its operations and over any conduit, and that of all others."""
    mine: dict[int, list[Result]] = {}
    others: dict[int, list[Result]] = {}
    for row in rows:
        (mine if row["library"].partition("-")[0] == MINE else others).setdefault(row["size"], []).append(row)
    pairs = [(size, fastest(mine[size]), fastest(others[size])) for size in sorted(mine.keys() & others.keys())]
    return [(size, own, first) for size, own, first in pairs if own and first]


def behind(name: str, rows: Sequence[Result]) -> Target:
    """At how many sizes another library is before this layer, in whichever operation it is fastest."""
    both = _both(rows)
    if not both:
        return missing(name, 0, True, "this layer or all others were not measured")
    lost = []
    for size, own, first in both:
        if are_apart(first, own):
            medians = [row["interval"]["median"] for row in (own, first)]
            lost.append(f"{size} B {first['library']} {first['op']} by {max(medians) / min(medians):.2f}x")
    return Target(name, len(lost), 0, True, note="; ".join(lost) or f"of {len(both)}")


def bandwidth(name: str, rows: Sequence[Result]) -> Target:
    """The lowest share of the highest bandwidth over the large sizes: of what each thread has, the slowest too. The sum
    over threads (`bandwidth_MBps`) counts pairs that take turns on a core as if they ran at once."""
    shares = []
    for size, own, first in _both([row for row in rows if row["size"] >= LARGE]):
        tied = "" if are_apart(first, own) else ", tied"
        share = first["interval"]["median"] / own["interval"]["median"]
        shares.append((share, f"{size} B, {first['library']} {first['op']}{tied}"))
    if not shares:
        return missing(name, BANDWIDTH, False, "this layer or all others were not measured")
    share, where = min(shares)
    return Target(name, share, BANDWIDTH, False, unit="x", note=where)

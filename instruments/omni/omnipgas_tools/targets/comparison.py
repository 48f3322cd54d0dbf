# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the comparison of all libraries: this layer against each of them, and two runs against each other.

They are read from result files of `omni pingpong --libs all` and `omni rate --libs all` (omni figures --from FILE,
--beside FILE); without them quick runs are made, whose few rounds tie what they cannot tell apart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from omnipgas_tools.measure import results, runner
from omnipgas_tools.measure.results import Result
from omnipgas_tools.report.ranking import LARGE, SMALL, are_apart, contradictions, fastest, is_library
from omnipgas_tools.targets.measurement import Bench, NotMeasuredError
from omnipgas_tools.targets.target import Target, at_least, at_most

MINE = "ompl"
BENCHES = {"pingpong": ("put", "putsignal", "sendrecv"), "rate": ("put",)}
THREADS = (1, 2, 4, 8)
SIZES = {"pingpong": runner.QUICK_SIZES, "rate": (8,)}
BANDWIDTH = 0.95


def declared() -> Iterator[Target]:
    """The targets of a quick run: latency and bandwidth, then rates."""
    for threads in THREADS:
        yield from targets_of(threads)[:2]
    yield from (targets_of(threads)[2] for threads in THREADS)


def targets_of(threads: int) -> tuple[Target, Target, Target]:
    """Latency, bandwidth and rate at a thread count."""
    where = f"{threads} thread{'s' if threads > 1 else ''}"
    return (
        at_most(f"{where}: sizes up to 4 KiB at which another is first", 0),
        at_least(f"{where}: bandwidth from 64 KiB, of the first's", BANDWIDTH, "x"),
        at_most(f"{where}: sizes at which another has the first rate", 0),
    )


def comparison(bench: Bench, _: Sequence[Target]) -> list[Target]:
    """Whether this layer is first or tied; at the thread counts of the run."""
    return against_all(_run(bench, 0))


def ranking(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Whether two runs rank the libraries alike."""
    if len(bench.given) == 1:
        raise NotMeasuredError("of one run only: give the files of another one too (--beside)")
    found, both = contradictions(_run(bench, 0), _run(bench, 1))
    if not both:
        raise NotMeasuredError("no two libraries are ranked by both runs")
    worst = "; ".join(f"{one.place}: {one.first}, {one.second}" for one in found[:3])
    yield targets[0].found(len(found), f"of {both}" + (f"; {worst}" if worst else ""))


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
    pings = by_threads(row for row in good if row["bench"] == "pingpong")
    rates = by_threads(row for row in good if row["bench"] == "rate" and row["op"] == "put")
    found = []
    for threads, mine in pings.items():
        latency, share, _ = targets_of(threads)
        found += [behind(latency, [row for row in mine if row["size"] <= SMALL]), bandwidth(share, mine)]
    found += [behind(targets_of(threads)[2], mine) for threads, mine in rates.items()]
    if not found:
        raise NotMeasuredError("nothing that could be compared was measured")
    return found


def by_threads(rows: Iterable[Result]) -> dict[int, list[Result]]:
    """The rows of each thread count."""
    found: dict[int, list[Result]] = {}
    for row in sorted(rows, key=lambda row: int(row["threads"])):
        found.setdefault(row["threads"], []).append(row)
    return found


def _both(rows: Sequence[Result]) -> list[tuple[int, Result, Result]]:
    """By size: the fastest row of this layer, in any of its operations and over any conduit, and that of all others."""
    mine: dict[int, list[Result]] = {}
    others: dict[int, list[Result]] = {}
    for row in rows:
        (mine if row["library"].partition("-")[0] == MINE else others).setdefault(row["size"], []).append(row)
    pairs = [(size, fastest(mine[size]), fastest(others[size])) for size in sorted(mine.keys() & others.keys())]
    return [(size, own, first) for size, own, first in pairs if own and first]


def behind(target: Target, rows: Sequence[Result]) -> Target:
    """At how many sizes another library is before this layer, in whichever operation it is fastest."""
    both = _both(rows)
    if not both:
        return target.missing("this layer or all others were not measured")
    lost = []
    for size, own, first in both:
        if are_apart(first, own):
            medians = [row["interval"]["median"] for row in (own, first)]
            lost.append(f"{size} B {first['library']} {first['op']} by {max(medians) / min(medians):.2f}x")
    return target.found(len(lost), "; ".join(lost) or f"of {len(both)}")


def bandwidth(target: Target, rows: Sequence[Result]) -> Target:
    """The lowest share of the highest bandwidth over the large sizes: of what each thread has, the slowest too. The sum
    over threads (`bandwidth_MBps`) counts pairs that take turns on a core as if they ran at once."""
    shares = []
    for size, own, first in _both([row for row in rows if row["size"] >= LARGE]):
        tied = "" if are_apart(first, own) else ", tied"
        share = first["interval"]["median"] / own["interval"]["median"]
        shares.append((share, f"{size} B, {first['library']} {first['op']}{tied}"))
    if not shares:
        return target.missing("this layer or all others were not measured")
    share, where = min(shares)
    return target.found(share, where)

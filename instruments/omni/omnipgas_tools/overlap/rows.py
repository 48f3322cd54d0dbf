# SPDX-License-Identifier: BSD-3-Clause
"""What the rounds of omni overlap amount to: rows of the result file."""

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from omnipgas_tools.measure import results, stats
from omnipgas_tools.measure.results import Result
from omnipgas_tools.overlap.plan import DEFAULT, NONE, Cell, Series
from omnipgas_tools.overlap.rounds import Outcome, Sample
from omnipgas_tools.report.terminal import size_text


def overlap_percent(pure: float, compute: float, overall: float) -> float:
    """OSU's: the part of the pure communication time that does not lengthen the computation. It is no less than 0, and
    does not see that the computation itself became longer."""
    return max(0.0, 100.0 - (overall - compute) / pure * 100.0)


def rows(outcome: Outcome) -> list[Result]:
    """One for each cell of each series: medians over rounds."""
    return [_row(outcome, series, cell) for series in outcome.series for cell in series.offered(outcome.cells)]


def _row(outcome: Outcome, series: Series, cell: Cell) -> Result:
    layout, mode = series.layout, series.mode
    row = results.empty("overlap", series.found.library.name, cell.collective, layout.t_calc(mode), cell.size)
    row |= {"ranks": layout.ranks, "algorithm": series.algorithm, "mode": mode}
    records, failure = outcome.of(series.key), outcome.failure(series.key, cell)
    samples = outcome.samples(series.key, cell)
    if records:
        row |= {"version": records[-1].version or None, "transport": records[-1].transport or None}
    if failure or not samples:
        status, reason = failure or ("skipped", "interrupted before its first round")
        return row | {"status": status, "reason": reason}
    return row | {
        "n_node": layout.n_node,
        "n_cpu": layout.n_cpu,
        "p_node": layout.p_node,
        "t_calc": layout.t_calc(mode),
        "t_node": layout.t_node(mode),
        "emulation": layout.emulation,
        "computation": cell.computation,
        "kernel": cell.kernel,
        "skew_us": cell.skew_us,
        "rounds": len(samples),
        **_medians(samples),
        **_compared(outcome, series, cell, samples),
    }


def _medians(samples: Mapping[int, Sample]) -> dict[str, Any]:
    found = list(samples.values())
    names = ("pure_us", "init_us", "compute_us", "wait_us", "overall_us", "cores_charged")
    percents = [overlap_percent(one.pure_us, one.compute_us, one.overall_us) for one in found]
    return {
        "elements": found[0].elements,
        **{name: statistics.median(getattr(one, name) for one in found) for name in names},
        "overall_interval": stats.median_interval([one.overall_us for one in found]).to_json(),
        "overlap_percent": statistics.median(percents),
        "pure_p99_us": _p99_us([one.pure for one in found]),
        "overall_p99_us": _p99_us([one.overall for one in found]),
    }


def _p99_us(histograms: list[list[tuple[int, int]]]) -> float:
    """Over all iterations of all ranks in all rounds."""
    counts: Counter[int] = Counter()
    for one in histograms:
        counts.update(dict(one))
    (ns,) = stats.percentiles(counts, [99])
    return ns / 1e3


def _compared(outcome: Outcome, series: Series, cell: Cell, samples: Mapping[int, Sample]) -> dict[str, Any]:
    """With mode none of the same round: the computation with nothing to communicate on as many threads, and the times
    of communication and of the whole."""
    elements = next(iter(samples.values())).elements
    alone = outcome.alone(series.base, cell.kernel, elements, series.layout.t_calc(series.mode))
    none = outcome.samples(series.base, cell)
    slowed = [sample.compute_us / alone[index] for index, sample in samples.items() if index in alone]
    return {
        "alone_us": statistics.median(alone.values()) if alone else None,
        "compute_slowdown": statistics.median(slowed) if slowed else None,
        "overall_of_none": _ratio(samples, none, "overall_us"),
        "pure_of_none": _ratio(samples, none, "pure_us"),
    }


def conclusions(rows: Sequence[Result]) -> list[str]:
    """What the rows of one table say: for each library, algorithm and mode at which sizes the same work takes less time
    than without progress, and at which more: where the 95 % interval of their ratio does not contain 1."""
    said = []
    for library, algorithm, mode in dict.fromkeys((row["library"], row["algorithm"], row["mode"]) for row in rows):
        mine = [row for row in rows if (row["library"], row["algorithm"], row["mode"]) == (library, algorithm, mode)]
        whole = {row["size"]: row["overall_of_none"] for row in mine if row["overall_of_none"]}
        if mode == NONE or not whole:
            continue
        shorter = {size: one["median"] for size, one in whole.items() if one["high"] < 1}
        longer = {size: one["median"] for size, one in whole.items() if one["low"] > 1}
        parts = [
            f"{word} than mode {NONE} at {', '.join(map(size_text, sorted(sizes)))} ({_spread(sizes.values())} of it)"
            for word, sizes in (("shorter", shorter), ("longer", longer))
            if sizes
        ]
        same = len(whole) - len(shorter) - len(longer)
        parts += [f"not told apart from it at {same} of {len(whole)} sizes"] if same else []
        name = library if algorithm == DEFAULT else f"{library} {algorithm}"
        said.append(f"{name}, {mode}: the whole is {'; '.join(parts)}.")
    return said


def _spread(values: Collection[float]) -> str:
    low, high = (f"{end:.2f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _ratio(mine: Mapping[int, Sample], none: Mapping[int, Sample], name: str) -> dict[str, float] | None:
    both = [index for index in mine if index in none]
    if not both:
        return None
    first, second = ([getattr(of[index], name) for index in both] for of in (mine, none))
    return stats.paired_ratio(first, second, 1).to_json()

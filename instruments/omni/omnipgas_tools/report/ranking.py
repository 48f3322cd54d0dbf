# SPDX-License-Identifier: BSD-3-Clause
"""Which library comes before which, and where two runs contradict each other.

Libraries are ranked by operation, thread count and class of sizes. At one size one is before another if their 95 %
intervals are apart; in a class if that is so at some size and the other way round at none. Otherwise they are tied.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from omnipgas_tools.measure.results import Result

SMALL, LARGE = 4096, 65536  # bytes: the papers' figures of latency end at the first, bandwidth is said from the second
BASELINES = ("raw", "sockets", "psm2", "ofi", "ucx")  # written by hand, no libraries

Interval = tuple[float, float]
BySize = Mapping[int, Interval]  # of one library: the interval of each size, lower is better


@dataclass(frozen=True, order=True)
class Place:
    """Where libraries are compared."""

    bench: str
    op: str
    threads: int
    sizes: str

    def __str__(self) -> str:
        return f"{self.bench} {self.op}, {self.threads} thread{'s' if self.threads > 1 else ''}, {self.sizes}"


@dataclass(frozen=True)
class Contradiction:
    """Of two libraries one is before the other in the first run, and behind it in the second."""

    place: Place
    first: str  # what the first run has before,
    second: str  # and the second


def is_library(name: str) -> bool:
    """Whether that is the name of a library, and not of a baseline or of processes in place of threads."""
    words = name.split()
    return words[0] not in BASELINES and words[-1] != "processes"


def sizes_of(size: int) -> str:
    """The class of a message's size."""
    if size <= SMALL:
        return "up to 4 KiB"
    return "from 64 KiB" if size >= LARGE else "between"


def comparable(rows: Iterable[Result]) -> dict[Place, dict[str, dict[int, Interval]]]:
    """What of a result file can be ranked: of each place, each library's intervals. Of rates they are turned round."""
    found: dict[Place, dict[str, dict[int, Interval]]] = {}
    for row in rows:
        if row["status"] != "ok" or "interval" not in row or not is_library(row["library"]):
            continue
        place = Place(row["bench"], row["op"], row["threads"], sizes_of(row["size"]))
        found.setdefault(place, {}).setdefault(row["library"], {})[row["size"]] = _interval(row)
    return found


def fastest(rows: Iterable[Result]) -> Result | None:
    """The row of the best median, of the highest one if they are rates."""
    best = None
    for row in rows:
        if best is None or _lower(row, "median") < _lower(best, "median"):
            best = row
    return best


def are_apart(first: Result, other: Result) -> bool:
    """Whether the interval of the first is better than all of the other's."""
    return _interval(first)[1] < _interval(other)[0]


def _interval(row: Result) -> Interval:
    one, other = (_lower(row, end) for end in ("low", "high"))
    return min(one, other), max(one, other)


def _lower(row: Result, end: str) -> float:
    """Of an interval: lower is better."""
    value = float(row["interval"][end])
    return value if row["bench"] == "pingpong" else -value


def is_before(one: BySize, other: BySize) -> bool:
    """Whether the first is better at some size that both have, and worse at none."""
    both = one.keys() & other.keys()
    better = any(one[size][1] < other[size][0] for size in both)
    return better and not any(other[size][1] < one[size][0] for size in both)


def ranked(libraries: Mapping[str, BySize]) -> list[tuple[int, str]]:
    """Each library with its rank: one more than the number of those before it, so that tied ones may share it."""
    ranks = [
        (1 + sum(is_before(libraries[other], mine) for other in libraries if other != name), name)
        for name, mine in libraries.items()
    ]
    return sorted(ranks)


def contradictions(first: Iterable[Result], second: Iterable[Result]) -> tuple[list[Contradiction], int]:
    """Where two runs rank libraries the other way round, and how many pairs both rank. Ties contradict nothing."""
    found, both = [], 0
    for place, pair, (was, now) in _pairs(comparable(first), comparable(second)):
        both += bool(was and now)
        if was and now and was != now:
            found.append(Contradiction(place, *(pair if was > 0 else pair[::-1])))
    return found, both


def _pairs(
    first: Mapping[Place, Mapping[str, BySize]], second: Mapping[Place, Mapping[str, BySize]]
) -> Iterator[tuple[Place, tuple[str, str], list[int]]]:
    """Of each two libraries that both runs have at a place: 1 if the one is first, -1 if the other, 0 if tied."""
    for place in sorted(first.keys() & second.keys()):
        names = sorted(first[place].keys() & second[place].keys())
        for one, other in combinations(names, 2):
            orders = [
                int(is_before(run[place][one], run[place][other])) - int(is_before(run[place][other], run[place][one]))
                for run in (first, second)
            ]
            yield place, (one, other), orders

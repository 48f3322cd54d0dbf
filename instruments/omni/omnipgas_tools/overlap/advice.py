# SPDX-License-Identifier: BSD-3-Clause
"""How many processes a node shall run, and who shall make progress: what of omni overlap's measurements finishes the
same work on the same cores first.

The same work: as many elements to compute on a node, and as many bytes that a node gives to the collective, however
many processes divide both. One way is before another if their 95 % intervals are apart, else they are tied.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from omnipgas_tools.measure.results import Result
from omnipgas_tools.measure.stats import Interval

# At one size, as which power of its processes a node's bytes grow: a block for each; of alltoall from each to each.
POWER = {"allgather": 1, "reduce-scatter": 1, "alltoall": 2, "allreduce": 0, "broadcast": 0}


@dataclass(frozen=True, order=True)
class Work:
    """What is to be done, on which cores, by which library."""

    library: str
    collective: str
    n_node: int
    n_cpu: int
    bytes: int  # of a node, in units of a rank's block for one process per node
    elements: int  # of a node
    kernel: str
    skew_us: float

    def __str__(self) -> str:
        late = f", last rank {self.skew_us:g} us late" if self.skew_us else ""
        return (
            f"{self.library}, {self.collective}, {self.bytes} B and {self.elements} elements of {self.kernel} a node,"
            f" n_node {self.n_node}, n_cpu {self.n_cpu}{late}"
        )


@dataclass(frozen=True, order=True)
class Way:
    """How it is done."""

    p_node: int
    mode: str
    algorithm: str

    def __str__(self) -> str:
        return f"p_node {self.p_node}, {self.mode}" + (f", {self.algorithm}" if self.algorithm != "default" else "")


@dataclass(frozen=True)
class Advice:
    """The ways to do one work, by their times from start to the end of wait, microseconds."""

    work: Work
    times: Mapping[Way, Interval]
    emulation: str | None = None

    @cached_property
    def order(self) -> list[Way]:
        """The fastest first."""
        return sorted(self.times, key=lambda way: (self.times[way].median, way))

    @property
    def first(self) -> list[Way]:
        """The fastest, and those that are tied with it."""
        best = self.times[self.order[0]]
        return [way for way in self.order if self.times[way].low <= best.high]

    @property
    def compares(self) -> bool:
        """Whether there is more than one number of processes."""
        return len({way.p_node for way in self.times}) > 1

    def behind(self, way: Way) -> float:
        """Its time over that of the fastest."""
        return self.times[way].median / self.times[self.order[0]].median


def advise(rows: Iterable[Result]) -> list[Advice]:
    """One for each work that was measured with several numbers of processes per node; of a way that was measured twice
    the last counts. Raises ValueError where a row is of an omni that kept no intervals."""
    times: dict[Work, dict[Way, Interval]] = {}
    emulations: dict[Work, str | None] = {}
    for row in rows:
        if row["bench"] != "overlap" or row["status"] != "ok":
            continue
        if "overall_interval" not in row:
            raise ValueError("it has no intervals of overall_us: measure again with this omni")
        found = row["overall_interval"]
        p_node = row["p_node"]
        work = Work(
            row["library"], row["op"], row["n_node"], row["n_cpu"], row["size"] * p_node ** POWER[row["op"]],
            row["elements"] * p_node, row["kernel"], row["skew_us"],
        )  # fmt: skip
        way = Way(p_node, row["mode"], row["algorithm"])
        times.setdefault(work, {})[way] = Interval(found["median"], found["low"], found["high"], found["rounds"])
        emulations[work] = row["emulation"]
    made = [Advice(work, ways, emulations[work]) for work, ways in sorted(times.items())]
    return [one for one in made if one.compares]


def most_often_first(advice: Iterable[Advice]) -> dict[str, list[tuple[Way, int, int]]]:
    """By library: each way, at how many of its works it is the fastest or tied, of how many; the most often first."""
    wins: dict[str, Counter[Way]] = {}
    tried: dict[str, Counter[Way]] = {}
    for one in advice:
        wins.setdefault(one.work.library, Counter()).update(one.first)
        tried.setdefault(one.work.library, Counter()).update(one.times.keys())
    return {
        library: sorted(
            ((way, wins[library][way], count) for way, count in tried[library].items()),
            key=lambda found: (-found[1], found[2], found[0]),
        )
        for library in wins
    }

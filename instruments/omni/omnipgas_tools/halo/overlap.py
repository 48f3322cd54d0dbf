# SPDX-License-Identifier: BSD-3-Clause
"""Measures how much of a halo exchange is hidden behind the part of a product that needs no halo (bench/product).

All in one job of the ranks. The contenders of the rounds (measure/rounds.py) are the computation alone, each strategy's
exchange alone, and each way to do both at once. What counts is the mean time on the slowest rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from omnipgas_tools.measure.rounds import Entry, Limits, Progress, Rounds, shuffled
from omnipgas_tools.measure.worker import Message, Worker, WorkerError

CHECKED = 4  # products: each slot twice
FEWEST = 4  # iterations of a block
PILOT = 4  # iterations
PILOT_PLANES = 4
FEWEST_PLANES, MOST_PLANES = 2, 128  # of a rank; one alone would have no row without a neighbour's

# Entries that the first and the last plane of a rank have beside other planes, of a plane's.
AT_THE_ENDS = 2 / 3


@dataclass(frozen=True)
class Way:
    """An exchange while the rank computes: looked after by it, as the solver does, or left alone."""

    strategy: str
    polls: bool = True

    def __str__(self) -> str:
        return self.strategy + ("" if self.polls else " without polling")


@dataclass
class Outcome:
    """Seconds on the slowest rank, by round."""

    side: int  # points of each side of the plane that a rank exchanges
    planes: int  # of a rank
    compute: list[float] = field(default_factory=list)
    exchange: dict[str, list[float]] = field(default_factory=dict)
    both: dict[Way, list[float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # strategies that cannot be had, with the reason

    @property
    def bytes(self) -> int:
        """Each way."""
        return self.side**2 * 8

    def hidden(self, way: Way) -> list[float]:
        """Of what could be hidden at best, the shorter of exchange and computation; by round."""
        apart = zip(self.exchange.get(way.strategy, []), self.compute, self.both.get(way, []), strict=False)
        return [hidden(*times) for times in apart]

    def to_json(self) -> dict[str, Any]:
        """As it stands in result files."""
        return {
            "side": self.side, "planes": self.planes, "bytes": self.bytes, "compute_s": self.compute,
            "exchange_s": self.exchange, "both_s": {str(way): times for way, times in self.both.items()},
            "refused": self.refused,
        }  # fmt: skip


def hidden(exchange: float, compute: float, both: float) -> float:
    """1: both take as long as the longer of them; 0: as one after the other; below: longer than that."""
    return (exchange + compute - both) / min(exchange, compute)


def planes_for(factor: float, exchange: float, plane: float) -> int:
    """Planes of a rank whose computation takes `factor` times as long as an exchange."""
    return min(MOST_PLANES, max(FEWEST_PLANES, round(factor * exchange / plane + AT_THE_ENDS)))


@dataclass
class _Turn(Entry[float]):
    """The seconds of something, and what takes the next ones, told the last."""

    take: Callable[[float | None], float]


class Job:
    """What is asked of the running ranks of bench/product. Methods raise WorkerError."""

    def __init__(self, worker: Worker, limits: Limits, seed: int, progress: Progress) -> None:
        self.worker, self.limits, self.progress = worker, limits, progress
        self.arrange = shuffled(seed)

    def pace(self, side: int, strategy: str) -> tuple[float, float]:
        """Seconds of an exchange of a plane by that strategy, and of the computation of one plane."""
        self.progress.at(f"how long {side} x {side} points take")
        self.grid(side, PILOT_PLANES)
        if why := self.create(strategy):
            raise WorkerError("skipped", why)
        exchange = self.block("exchange", strategy, PILOT)
        return exchange, self.block("compute", "", PILOT) / (PILOT_PLANES - AT_THE_ENDS)

    def measure(self, side: int, planes: int, ways: Sequence[Way]) -> Outcome:
        """Rounds of everything, after a check of each strategy's products."""
        out = Outcome(side, planes)
        self.grid(side, planes)
        for strategy in dict.fromkeys(way.strategy for way in ways):
            self.progress.at(f"{planes} planes: checking {strategy}")
            if why := self.create(strategy):
                out.refused[strategy] = why
                continue
            out.exchange[strategy] = []
            self.verify(strategy)
        out.both = {way: [] for way in ways if way.strategy in out.exchange}
        turns = [_Turn(partial(self.timed, "compute", ""), rounds=out.compute)]
        turns += [_Turn(partial(self.timed, "exchange", one), rounds=times) for one, times in out.exchange.items()]
        turns += [
            _Turn(partial(self.timed, "overlap", one.strategy, polls=one.polls), rounds=times)
            for one, times in out.both.items()
        ]

        def take(turn: _Turn, index: int) -> float:
            self.progress.at(f"{planes} planes: round {index + 1}")
            return turn.take(turn.rounds[-1] if turn.rounds else None)

        self.progress.plan(self.limits.rounds)
        Rounds(turns, take, self.limits, self.arrange).run(self.progress.done)
        return out

    def timed(self, what: str, strategy: str, expected: float | None, **more: bool) -> float:
        """A block about as long as blocks shall be, if it is known how long one iteration takes."""
        if expected is None:
            expected = self.block(what, strategy, PILOT, **more)
        return self.block(what, strategy, self.limits.fitting(expected, FEWEST), **more)

    def grid(self, side: int, planes: int) -> None:
        ranks = self.worker.found.ranks
        self.ask("grid", grid=[side, side, ranks * planes])

    def create(self, strategy: str) -> str:
        """Why there is none; nothing if there is."""
        return next((str(one["refused"]) for one in self.ask("create", strategy) if one["refused"]), "")

    def verify(self, strategy: str) -> None:
        if any(one["products"] != CHECKED for one in self.ask("verify", strategy, CHECKED)):
            raise WorkerError("corrupt", f"{strategy}: not all products were checked")

    def block(self, what: str, strategy: str, count: int, **more: bool) -> float:
        """Seconds of an iteration, the mean of so many."""
        return float(max(one["seconds"] for one in self.ask(what, strategy, count, **more)) / count)

    def ask(self, what: str, strategy: str = "", count: int = 1, **more: object) -> list[Message]:
        return self.worker.all_ranks(what, strategy, self.limits.timeout, count, [more] * self.worker.found.ranks)

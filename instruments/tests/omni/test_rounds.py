# SPDX-License-Identifier: BSD-3-Clause
"""The measuring engine without any ranks: who takes part in which round."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from omnipgas_tools.measure.rounds import Entry, Limits, Rounds


@dataclass
class Named(Entry[float]):
    name: str

    def values(self) -> list[float]:
        return self.rounds


def as_given(_index: int, _turns: list[Named]) -> None:
    """No other order."""


def taken(contenders: list[Named], limits: Limits, block: Callable[[Named], float], together: bool = False) -> str:
    """The names in the order of their blocks, with a bar behind each round."""
    order: list[str] = []

    def noted(one: Named, _index: int) -> float:
        order.append(one.name)
        return block(one)

    Rounds(contenders, noted, limits, as_given, together=together).run(lambda: order.append("|"))
    return "".join(order)


def costly(one: Named) -> float:
    """A block whose values never agree; that of b costs as much as both may."""
    one.used += 9.0 if one.name == "b" else 0.5
    return float(len(one.rounds) % 2)


def test_what_an_earlier_run_has_is_not_measured_again() -> None:
    limits = Limits(rounds=3, min_rounds=3)
    assert taken([Named("a", rounds=[1.0, 1.0]), Named("b", rounds=[2.0])], limits, lambda one: 1.0) == "|b|ab|"
    assert taken([Named("a", rounds=[1.0] * 3)], limits, lambda one: 1.0) == ""


def test_who_has_failed_takes_no_part_even_in_the_same_round() -> None:
    a, b = Named("a"), Named("b")

    def block(one: Named) -> float:
        if len(a.rounds) == 1:
            b.fail("hung", "by a")
        return 1.0

    assert taken([a, b], Limits(rounds=3, min_rounds=3), block) == "ab|a|a|"
    assert (len(b.rounds), b.ends, a.ends) == (1, [1], [3])


@pytest.mark.parametrize(("together", "order"), [(False, "ab|ab|a|a|a|"), (True, "ab|ab|")])
def test_who_costs_too_much_leaves_or_ends_the_rounds_of_all(together: bool, order: str) -> None:
    limits = Limits(rounds=5, min_rounds=2, cell_seconds=4.0)
    assert taken([Named("a"), Named("b")], limits, costly, together) == order


def test_rounds_end_once_all_medians_are_precise() -> None:
    assert taken([Named("a"), Named("b")], Limits(rounds=5, min_rounds=2), lambda one: 1.0) == "ab|ab|"
    assert taken([Named("a")], Limits(rounds=3, min_rounds=2, tolerance=0.0), lambda one: 1.0) == "a|a|a|"

# SPDX-License-Identifier: BSD-3-Clause
"""The table of `omni report --table`, of made results."""

from typing import Any

from omnipgas_tools.measure import results
from omnipgas_tools.report import table as comparison_table

from .test_ranking import row


def lines(*rows: results.Result) -> list[str]:
    side: dict[str, Any] = {"date": "2026-11-25", "machine": results.machine(), "results": list(rows)}
    return [line for line in comparison_table.tables(side).splitlines() if line.startswith("|")]


def test_the_first_and_who_is_tied_with_it_are_bold_and_the_twin_is_neither() -> None:
    two = [row("a", 2, 4, threads=2), row("b", 5, 7, threads=2) | {"status": "hung"}]
    found = lines(row("raw", 0.5, 1.5), row("a", 1, 3), row("b", 2, 6), row("c", 4, 6), row("c processes", 1, 1), *two)
    assert found[0] == "| put + flag, 8 B, us one way | 1 thread | 2 threads |"
    assert found[2:6] == ["| `raw` | 1 | - |", "| `a` | **2** | **3** |", "| `b` | **4** | hung |", "| `c` | 5 | - |"]


def test_the_faster_of_two_operations_counts_and_of_rates_the_higher() -> None:
    (fast,) = lines(row("a", 5, 7), row("a", 1, 3) | {"op": "putsignal"})[2:3]
    assert fast == "| `a` | **2** |"
    rates = lines(row("a", 5, 7, bench="rate"), row("b", 8, 10, bench="rate"), row("c", 6, 9, bench="rate"))
    assert rates[2:] == ["| `a` | 6 |", "| `b` | **9** |", "| `c` | **7.5** |"]
    between = lines(row("a", 5, 7, bench="flow"), row("b", 8, 10, bench="flow"))
    assert between[0] == "| put + flag, 8 B, million that arrive a second | 1 thread |"
    assert between[2:] == ["| `a` | 6 |", "| `b` | **9** |"]
    assert lines(row("a", 1200, 1300))[2] == "| `a` | **1,250** |"


def test_what_a_rank_takes_stands_beside_it() -> None:
    ping = row("a", 1, 3) | {"startup_s": 0.25, "cpu_us_per_message": 1.5, "version": "1.0"}
    found = lines(ping, row("a", 1, 1, bench="memory", size=4096) | {"memory_per_peer_KiB": 12.0})
    assert found[3].startswith("| what else | version | us of processor time")
    assert found[5] == "| `a` | 1.0 | 1.5 | 0.25 | 12 |"

# SPDX-License-Identifier: BSD-3-Clause
"""The study's tables: what was measured, and apart from it what is modelled."""

from collections.abc import Iterator
from typing import Any

from omnipgas_tools.report.table import markdown
from omnipgas_tools.study.plan import BASE, PARTITIONS, SERIES, STRATEGIES, WORKS

Found = dict[str, Any]  # the result file
NOTHING = "-"


def text(found: Found) -> str:
    """All of them, Markdown; those of what was left out are left out."""
    plan = found["plan"]
    parts = [
        ("What the partitions cost", qualities(found)),
        (f"Bare exchanges, measured: time of that by {plan['mpi']} on the same partition", exchanges(found)),
        ("Exchanges on a ring of 18 ranks, 800 B each way, measured: gain by the number of neighbours", rings(found)),
        (f"Solves, measured: time of that with {plan['mpi']} on the same partition", solves(found)),
        (f"Modelled (LogGPS): time of that with {plan['mpi']} on the same partition", modelled(found)),
        ("Modelled (LogGPS): gain of double buffering over plain RDMA", gains(found)),
    ]
    lines = [f"# Halo exchange of {plan['matrix'].partition('=')[2]}", ""]
    for title, table in parts:
        if len(table) > 2:
            lines += [f"## {title}", "", *table, ""]
    return "\n".join(lines)


def qualities(found: Found) -> list[str]:
    """As of omni partition."""
    rows = []
    for one in found["partitions"].get("all", []):
        cost = one["quality"]
        neighbors = f"{cost['neighbours_mean']:.1f} ({cost['neighbours_most']})"
        rows.append([one["partition"], str(one["parts"]), f"{cost['halo']:,}", neighbors,
                     f"{cost['smallest_message_bytes']:,}", f"{cost['interior_least']:.0%}"])  # fmt: skip
    return markdown(
        ["partition", "parts", "halo", "neighbours (most)", "smallest message, B", "interior rows, least"], rows
    )


def exchanges(found: Found) -> list[str]:
    """Each with its interval, and double buffering over plain RDMA."""
    rows = []
    for name, results in found["exchanges"].items():
        of = {row["op"]: (row["halo"] or {}).get("of_base") if row["status"] == "ok" else None for row in results}
        rows.append([name, *(interval(of.get(strategy)) for strategy in STRATEGIES.values())])
    return markdown(["exchange", *STRATEGIES], rows)


def ring_gains(found: Found) -> list[tuple[int, float, float, float]]:
    """Neighbours; gain of double buffering over one slot with a mark to reset, percent, and its interval."""
    made = []
    for count, results in found["neighbors"].items():
        of = {row["op"]: row["halo"]["of_base"] for row in results if row["status"] == "ok"}
        if one := of.get(STRATEGIES["dbf"]):
            made.append((int(count), *(100 * (1 - one[key]) for key in ("median", "high", "low"))))
    return sorted(made)


def rings(found: Found) -> list[str]:
    """A row for each number of neighbours."""
    rows = [[str(n), f"{gain:+.0f} % [{low:+.0f}, {high:+.0f}]"] for n, gain, low, high in ring_gains(found)]
    return markdown(["neighbours", "gain of double buffering"], rows)


def solves(found: Found) -> list[str]:
    """A row for each work and number of ranks, a column for each series."""
    rows = []
    for ranks, results in found["solves"].items():
        of = {(one["work"], one["partition"], one["strategy"]): one["of_mpi"] for one in results}
        for work in WORKS:
            cells = [interval(of[work, kind, strategy]) for strategy, kind in SERIES.values()]
            rows.append([work, ranks, *cells])
    return markdown(["work", "ranks", *SERIES], rows)


def seconds(found: Found, work: str, kind: str, parts: int, strategy: str) -> float | None:
    """Modelled, of an iteration."""
    value: float | None = found["modelled"].get(f"{work}, {kind} {parts}, {strategy}")
    return value


def ratio(found: Found, work: str, kind: str, parts: int, over: tuple[str, str]) -> float | None:
    """Modelled, of one strategy to another."""
    one, other = (seconds(found, work, kind, parts, strategy) for strategy in over)
    return None if one is None or other is None else one / other


def modelled(found: Found) -> list[str]:
    """A row for each work and number of parts, a column for each series."""
    rows = []
    for work, parts in modelled_rows(found):
        cells = [ratio(found, work, kind, parts, (strategy, BASE)) for strategy, kind in SERIES.values()]
        rows.append([work, str(parts), *(NOTHING if cell is None else f"{cell:.4f}" for cell in cells)])
    return markdown(["work", "parts", *SERIES], rows)


def gain(found: Found, work: str, kind: str, parts: int) -> float | None:
    """Modelled, percent, of double buffering over plain RDMA."""
    of = ratio(found, work, kind, parts, (STRATEGIES["dbf"], STRATEGIES["rdma"]))
    return None if of is None else 100 * (1 - of)


def gains(found: Found) -> list[str]:
    """Beside the neighbours that a part has."""
    mean = {
        (one["partition"], one["parts"]): one["quality"]["neighbours_mean"]
        for one in found["partitions"].get("all", [])
    }
    rows = []
    for work, parts in modelled_rows(found):
        cells = []
        for kind in PARTITIONS.values():
            percent = gain(found, work, kind, parts)
            cells += [f"{mean[kind, parts]:.1f}", NOTHING if percent is None else f"{percent:+.2f} %"]
        rows.append([work, str(parts), *cells])
    heads = [head for cut in PARTITIONS for head in (f"{cut}: neighbours", "gain")]
    return markdown(["work", "parts", *heads], rows)


def modelled_rows(found: Found) -> Iterator[tuple[str, int]]:
    """Of which there is anything."""
    for work in WORKS:
        for parts in found["plan"]["parts"]:
            if any(seconds(found, work, kind, parts, BASE) is not None for kind in PARTITIONS.values()):
                yield work, parts


def interval(one: dict[str, float] | None) -> str:
    """A median and where it lies."""
    return f"{one['median']:.2f} [{one['low']:.2f}, {one['high']:.2f}]" if one else NOTHING

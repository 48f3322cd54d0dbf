# SPDX-License-Identifier: BSD-3-Clause
"""What was fitted, as tables on the terminal."""

from rich.console import Console
from rich.table import Table

from omnipgas_tools.model.fit.curves import Estimate
from omnipgas_tools.model.fit.fitting import Fit
from omnipgas_tools.model.fit.parameter_file import agreeing

MODELS = ("loggps", "loggp-2", "loggops")


def show(console: Console, title: str, fit: Fit, known: dict[str, int]) -> None:
    """One operation."""
    table = Table(title=f"{title}: LogGPS parameters, 95 % intervals", title_justify="left")
    for heading in ("parameter", "value", "interval", "unit", "remark"):
        table.add_column(heading, justify="right" if heading in ("value", "interval") else "left")
    for name, estimate in (fit.values["loggps"] | {"s": fit.s, "S": fit.S}).items():
        table.add_row("o'" if name == "o" else name, *_cells(estimate))
    console.print(table)
    for line in remarks(fit, known):
        console.print(line, soft_wrap=True)
    if fit.tests:
        console.print(tests(fit))
    console.print(others(fit))


def _cells(estimate: Estimate) -> tuple[str, ...]:
    if estimate.unit == "bytes" and not estimate.identified:
        return "none", "", "", estimate.note
    interval = f"{estimate.low:.4g} .. {estimate.high:.4g}"
    if estimate.unit == "bytes":
        return f"{estimate.value:.0f}", f"{estimate.low:.0f} .. {estimate.high:.0f}", "bytes", estimate.note
    return f"{estimate.value:.4g}", interval, estimate.unit, estimate.note


def remarks(fit: Fit, known: dict[str, int]) -> list[str]:
    """What a table does not say."""
    said = []
    if fit.unidentified:
        only = f"; known: {', '.join(fit.sums)}" if fit.sums else ""
        said.append(f"not identified: {', '.join(fit.unidentified)}{only}")
    m, S = fit.measurements, fit.lengths.S
    for length, receiver in ((m.eager_up_to, "that computes"), (m.unmatched_up_to, "in the library")):
        if length is not None:
            settings = ", ".join(f"{name} = {known[name]}" for name in agreeing(length, known)) or "no setting"
            said.append(f"sends wait for a receiver {receiver} above {length} bytes; {settings} says so")
    if S is not None and fit.by_curves.S != S:
        said.append(f"by the jump of the curves alone S would be {fit.by_curves.S}")
    if fit.o_contains_g is not None:
        verb = "contains" if fit.o_contains_g else "does not contain"
        said.append(f"o' {verb} g: " + "; ".join(
            f"{gap['bytes']} B: later sends take {gap['more_ns']:+.0f} ns ({gap['low']:+.0f} .. {gap['high']:+.0f})"
            for gap in fit.gaps
        ))  # fmt: skip
    for name, one in fit.errors.items():
        what, _, model = name.partition(" by ")
        off = f"off by {100 * one['median']:.1f} % (median), at worst {100 * one['worst']:.0f} %"
        said.append(f"{model or 'LogGPS'} on {what}: {off}")
    return said


def tests(fit: Fit) -> Table:
    """Section 4.2 of the paper."""
    table = Table(title="tests of the model's assumptions", title_justify="left")
    for heading in ("test", "holds", "estimate", "interval", "estimate / error", "what"):
        table.add_column(heading)
    for test in fit.tests:
        one = test.estimate
        table.add_row(
            test.name, "yes" if test.holds else "no", f"{one.value:.4g} {one.unit}", f"{one.low:.4g} .. {one.high:.4g}",
            f"{test.statistic:.3g}", test.meaning,
        )  # fmt: skip
    return table


def others(fit: Fit) -> Table:
    """The other models in one line each."""
    table = Table(title="other models", title_justify="left")
    table.add_column("model")
    table.add_column("parameters")
    for model in MODELS[1:]:
        table.add_row(model, ", ".join(f"{name} {e.value:.4g} {e.unit}" for name, e in fit.values[model].items()))
    if fit.curve is not None:
        starts = ", ".join(str(one.first) for one in fit.curve.segments)
        table.add_row(
            "curve", f"L {fit.curve.latency:.4g} ns, o of both sides and the wire; segments from {starts} bytes"
        )
    table.add_row("loggp-1", f"L {fit.values['loggp-1']['L'].value:.4g} ns, o and G at {len(fit.rows)} lengths")
    return table

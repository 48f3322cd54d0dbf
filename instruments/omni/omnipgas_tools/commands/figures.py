# SPDX-License-Identifier: BSD-3-Clause
"""omni figures: the figures that the project must show, each with its bound."""

from pathlib import Path
from typing import Optional

import typer
from rich.console import Console

from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.options import INTERRUPTED, Bar, words
from omnipgas_tools.report import comparison, performance
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.measurement import Bench
from omnipgas_tools.targets.target import Target

GROUPS = typer.Option(
    ",".join(targets.GROUPS), "--groups", help=f"Groups to measure, comma-separated: {', '.join(targets.GROUPS)}.",
    show_default="all",
)  # fmt: skip
GIVEN = typer.Option(
    None, "--from", metavar="FILE",
    help="Result file of omni pingpong or omni rate, --libs all, for the groups comparison and ranking; repeatable."
    " [quick runs]",
)  # fmt: skip
BESIDE = typer.Option(
    None, "--beside", metavar="FILE", help="Result file of a second run, for the group ranking; repeatable."
)
PUBLISH = typer.Option(False, "--publish", help="Also writes these groups into docs/results/ and docs/performance.md.")
PAGES = typer.Option(
    False, "--pages", help="Measures nothing: writes docs/performance.md and its pages from docs/results/figures.json."
)


def command(
    groups: str = GROUPS,
    given: Optional[list[Path]] = GIVEN,
    beside: Optional[list[Path]] = BESIDE,
    publish: bool = PUBLISH,
    pages: bool = PAGES,
) -> None:
    """Measure the "must show" figures; one line each: name, value, bound, met or missed."""
    if pages:
        performance.pages(CHECKOUT / "docs")
        return
    wanted = words("--groups", groups, list(targets.GROUPS))
    if beside and not given:
        raise typer.BadParameter("needs --from, the files of the first run", param_hint="--beside")
    runs = [comparison.side(files) for files in (given, beside) if files]
    console = Console(stderr=True, markup=False, emoji=False)
    build = catalog.build_dir()
    found: list[Target] = []
    interrupted = False
    with Bar(console) as bar:
        bench = Bench(build, bar, runs)
        try:
            for figure in targets.measure(bench, wanted):
                found.append(figure)
                print(figure.line(), flush=True)
        except KeyboardInterrupt:
            interrupted = True
    path = targets.write(build / "results", bench.groups)
    bounded = [figure for figure in found if figure.bound is not None]
    met = sum(figure.met for figure in bounded)
    console.print(f"{met} of {len(bounded)} bounds met. Result file: {path}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if publish:
        performance.publish(path, CHECKOUT / "docs", list(targets.GROUPS))

# SPDX-License-Identifier: BSD-3-Clause
"""omni doctor: what makes a job of this layer slow on this machine, or fail, and what to change."""

from typing import Optional

import typer

from omnipgas_tools import options
from omnipgas_tools.doctor import conduits, instruments, layer
from omnipgas_tools.doctor.findings import STATUS, Finding, document, summary, table, worst
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results

RANKS = typer.Option(None, "--ranks", min=1, help="Ranks that the job has on this node. [those of the launcher, or 1]")
THREADS = typer.Option(None, "--threads", min=1, help="Threads of each rank. [1]")
NODES = typer.Option(None, "--nodes", min=1, help="Nodes of the job. [those of the launcher, or 1]")
ALLOCATE = typer.Option(None, "--allocate", metavar="SIZE", help="Bytes that each rank allocates, as 1GiB. [0]")
RUN = typer.Option(True, "--run/--no-run", help="Whether jobs are started: under each MPI, and over each conduit.")


def command(
    ranks: Optional[int] = RANKS,
    threads: Optional[int] = THREADS,
    nodes: Optional[int] = NODES,
    allocate: Optional[str] = ALLOCATE,
    run: bool = RUN,
    json: Optional[str] = options.JSON,
) -> None:
    """What makes a job slow on this machine or in this allocation, or fail, and what to change. Exit status: 0 all is
    fine, 1 something will be slow, 2 something will fail."""
    options.check_writable(json, "--json")
    console = options.console_beside(json)
    build = catalog.build_dir()
    asked = {"--ranks": ranks, "--threads": threads, "--nodes": nodes, "--allocate": allocate}
    given = [word for option, value in asked.items() if value is not None for word in (option, str(value))]
    found: list[Finding] = []
    try:
        at = instruments.Context(build, jobs=run)
        first = list(instruments.look(at, instruments.FIRST))
        about, found = layer.ask(build, given)
        found += [*first, *instruments.look(at)]
        if run:
            found += conduits.look(build)
    except layer.UnknownError as unknown:
        options.progress_console().print(f"omni: {unknown}", style="red", soft_wrap=True)
        raise typer.Exit(STATUS["fails"]) from unknown
    except KeyboardInterrupt:
        raise typer.Exit(options.INTERRUPTED) from None
    console.print(table(found))
    console.print(summary(found))
    if json:
        results.write(json, document(about, found))
    raise typer.Exit(STATUS[worst(found)])

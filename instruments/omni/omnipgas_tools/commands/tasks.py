# SPDX-License-Identifier: BSD-3-Clause
"""omni tasks: the smallest tasks that keep the cores busy, by Task Bench."""

from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Optional

import typer
from rich.console import Console

from omnipgas_tools import __version__, options
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.measure import results
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.options import INTERRUPTED, JSON, PLOT, SEED, Bar, numbers, words
from omnipgas_tools.tasks import factorizations, report
from omnipgas_tools.tasks import plan as tasks_plan
from omnipgas_tools.tasks.plan import PATTERNS, Contender, Work
from omnipgas_tools.tasks.programs import FORMS, MPI, VARIABLE, Builder, checked_source
from omnipgas_tools.tasks.rounds import Curve, Plan, measure

ITERATIONS = ",".join(str(1 << power) for power in range(4, 16))
FEW_ITERATIONS = ",".join(str(1 << power) for power in range(4, 17, 3))
ROUNDS, FEW = 9, 3

SOURCE = typer.Option(
    None, "--task-bench", metavar="FOLDER",
    help=f"Sources of Task Bench, from which the programs are compiled once. [the variable {VARIABLE}]",
)  # fmt: skip
CHOSEN = typer.Option(
    "tasklet,ompl,mpi,mpi-openmp,mpi-multiple,openmp", "--contenders",
    help=f"Programs to run, comma-separated: {', '.join(FORMS)}; empty: none but those of --own.",
)  # fmt: skip
MPIS = options.mpi("mpich", "MPIs for the contenders that use one, comma-separated.")
OWN = typer.Option(
    [], "--own", metavar="NAME=COMMAND",
    help="Another program that takes and prints what Task Bench's do; {ranks} and {threads} are replaced; repeatable.",
)  # fmt: skip
CHOSEN_PATTERNS = typer.Option(
    "stencil_1d", "--patterns", help=f"Patterns of dependences, comma-separated: {', '.join(PATTERNS)}."
)
LAYOUTS = typer.Option(
    "", "--layouts",
    help="Ranks and threads of each, comma-separated, such as 2x1,1x2; those of as many cores are compared."
    " [each core a rank; each core a thread of one rank]",
)  # fmt: skip
SIZES = options.sizes("16", "Bytes of a task's output, comma-separated; at least 16.")
IMBALANCE = typer.Option(
    "0", "--imbalance", help="Part of its work by which a task may differ at random, comma-separated: 0 to 2."
)
POINTS = typer.Option(1, "--points", min=1, help="Points of a step for each core.")
SWEPT = typer.Option(
    None, "--iterations", metavar="LIST",
    help=f"Iterations of a task's kernel, comma-separated. [{ITERATIONS}; quick: {FEW_ITERATIONS}]",
)  # fmt: skip
EFFICIENCY = typer.Option(50.0, "--efficiency", min=1, max=99, help="Percent of the peak that count as busy.")
SECONDS = typer.Option(0.02, "--seconds", min=0.0001, help="Seconds that a run works, about.")
REPEAT = options.repeat(None, f"Rounds, each of which runs everything once. [{ROUNDS}; quick: {FEW}]")
QUICK = options.quick("Takes fewer rounds and fewer sizes of tasks.")
TIMEOUT = options.timeout(60.0, "a run counts as hung")
CHOLESKY = typer.Option(
    None, "--cholesky", metavar="ROWSxTILE,...",
    help="In place of Task Bench: Cholesky factorizations of these sizes, such as 1024x64, by tasks over this layer,"
    " fork and join, and two forms of tasks over the first of --mpi; time against the threads of --layouts."
    " [layouts: 1 and 2 ranks, with 1, 2, 4 ... threads, as far as there are cores]",
)  # fmt: skip


def command(
    task_bench: Optional[Path] = SOURCE,
    contenders: str = CHOSEN,
    mpi: str = MPIS,
    own: list[str] = OWN,
    patterns: str = CHOSEN_PATTERNS,
    layouts: str = LAYOUTS,
    sizes: str = SIZES,
    imbalance: str = IMBALANCE,
    points: int = POINTS,
    iterations: Optional[str] = SWEPT,
    efficiency: float = EFFICIENCY,
    seconds: float = SECONDS,
    repeat: Optional[int] = REPEAT,
    quick: bool = QUICK,
    timeout: float = TIMEOUT,
    cholesky: Optional[str] = CHOLESKY,
    json: Optional[str] = JSON,
    plot: Optional[Path] = PLOT,
    seed: Optional[int] = SEED,
) -> None:
    """Task Bench: the smallest tasks that keep the cores busy (METG), by this layer's tasks, by threads that put and
    signal, and by MPI and OpenMP."""
    options.check_writable(json, "--json")
    options.check_writable(plot, "--plot")
    if cholesky is not None:
        return _factorize(cholesky, mpi, layouts, repeat or (FEW if quick else ROUNDS), timeout, json, plot, seed)
    works, found, missing = _chosen(
        task_bench, contenders, mpi, own, patterns, layouts, sizes, imbalance, points, timeout
    )
    rounds = repeat or (FEW if quick else ROUNDS)
    plan = Plan(
        sorted(numbers("--iterations", iterations or (FEW_ITERATIONS if quick else ITERATIONS), 1)), seconds,
        Limits(rounds=rounds, min_rounds=rounds, timeout=timeout), options.order(seed),
    )  # fmt: skip
    console = options.console_beside(json)
    begun, machine = datetime.now(UTC), results.machine()
    curves, interrupted = _measure(works, found, plan, options.progress_console())
    wanted = efficiency / 100
    report.show(console, curves, missing, wanted)
    if json:
        command_said = {
            "omni": __version__, "started": begun.isoformat(timespec="seconds"), "seed": plan.seed,
            "efficiency": wanted, "seconds": seconds, "interrupted": interrupted, "skipped": missing,
            "commands": {one.key: one.command for one in found},
        }  # fmt: skip
        rows = [report.row(curve, wanted) for curve in curves]
        results.write(json, results.document(machine, command_said, rows) | {"schema": report.SCHEMA})
    if plot and curves:
        report.plot(plot, curves, wanted)
        console.print(f"Plot: {plot}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if any(curve.rounds and curve.status == "ok" for curve in curves) else 1)


def _factorize(
    cholesky: str, mpi: str, layouts: str, rounds: int, timeout: float, json: str | None, plot: Path | None,
    seed: int | None,
) -> None:  # fmt: skip
    """Cholesky factorizations instead of Task Bench."""
    build = catalog.build_dir()
    try:
        sizes = factorizations.sizes(cholesky)
        wanted = tasks_plan.layouts(layouts) if layouts else factorizations.layouts()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    [name, *_] = words("--mpi", mpi, [name for name, library in catalog.table(build).items() if library.is_mpi])
    found, missing = factorizations.contenders(build, name, wanted, timeout)
    if not found:
        raise options.refuse("; ".join(dict.fromkeys(missing.values())))
    console = options.console_beside(json)
    begun, machine, order = datetime.now(UTC), results.machine(), options.order(seed)
    limits = Limits(rounds=rounds, min_rounds=rounds, timeout=timeout)
    with Bar(options.progress_console()) as bar:
        solved, interrupted = factorizations.measure(found, sizes, limits, bar, order)
    factorizations.show(console, solved, missing)
    if json:
        said = {
            "omni": __version__, "started": begun.isoformat(timespec="seconds"), "seed": order, "mpi": name,
            "interrupted": interrupted, "skipped": missing,
            "commands": {one.key: one.command for forms in found for one in forms},
        }  # fmt: skip
        document = results.document(machine, said, factorizations.rows(solved))
        results.write(json, document | {"schema": factorizations.SCHEMA})
    if plot and any(one.rounds for one in solved):
        factorizations.plot(plot, solved)
        console.print(f"Plot: {plot}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if any(one.rounds and one.status == "ok" for one in solved) else 1)


def _chosen(
    task_bench: Path | None, contenders: str, mpi: str, own: list[str], patterns: str, layouts: str, sizes: str,
    imbalance: str, points: int, timeout: float,
) -> tuple[list[Work], list[Contender], dict[str, str]]:  # fmt: skip
    """What to run, by what, and what cannot be had."""
    build = catalog.build_dir()
    forms = words("--contenders", contenders, list(FORMS))
    table = catalog.table(build) if any(FORMS[form].starts == MPI for form in forms) else {}
    mpis = words("--mpi", mpi, [name for name, library in table.items() if library.is_mpi]) if table else []
    try:
        wanted = tasks_plan.layouts(layouts)
        found = [tasks_plan.own(text, layout) for text in own for layout in wanted]
        uneven = [_part(word) for word in imbalance.split(",")]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    missing: dict[str, str] = {}
    if forms:
        try:
            builder = Builder(checked_source(task_bench), build)
        except MissingError as error:
            raise options.refuse(error) from error
        built, missing = tasks_plan.contenders(builder, forms, mpis, wanted, timeout)
        found = [*built, *found]
    if not found:
        for name, why in missing.items():
            options.refuse(f"{name}: {why}")
        raise options.refuse("no contender can be run: give --contenders or --own")
    cores = list(dict.fromkeys(layout.cores for layout in wanted))
    works = [
        Work(pattern, count, size, part, points)
        for pattern, count, size, part in product(
            words("--patterns", patterns, list(PATTERNS)), cores, numbers("--sizes", sizes, 16), uneven
        )
    ]
    return works, found, missing


def _part(word: str) -> float:
    value = float(word)
    if not 0 <= value <= 2:
        raise ValueError(f"--imbalance {word.strip()} is not between 0 and 2")
    return value


def _measure(works: list[Work], found: list[Contender], plan: Plan, console: Console) -> tuple[list[Curve], bool]:
    """All works, one after the other."""
    curves: list[Curve] = []
    with Bar(console) as bar:
        fitting = [[one for one in found if one.layout.cores == work.cores] for work in works]
        bar.plan(sum((len(some) * len(plan.iterations) + 1) * plan.limits.rounds for some in fitting))
        for work, some in zip(works, fitting, strict=True):
            if not some:
                continue
            more, interrupted = measure(some, work, plan, bar)
            curves += more
            if interrupted:
                return curves, True
    return curves, False

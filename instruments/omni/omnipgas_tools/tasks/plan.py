# SPDX-License-Identifier: BSD-3-Clause
"""What is run: contenders on numbers of ranks and threads, patterns of dependences, sizes of outputs and tasks."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import MissingError
from omnipgas_tools.libraries.compilers import FailedError
from omnipgas_tools.model import examples
from omnipgas_tools.tasks.programs import FORMS, LAYER, LOCAL, MPI, Builder

RADIX, PERIOD = 3, 3  # of patterns that have them, or less where the points are few
# Task Bench's, and which of radix and period each has; random_spread is not among them: its period cannot be given.
PATTERNS = {
    "trivial": "", "no_comm": "", "stencil_1d": "", "stencil_1d_periodic": "", "dom": "", "tree": "", "fft": "",
    "all_to_all": "", "nearest": "r", "spread": "rp", "random_nearest": "rp",
}  # fmt: skip
SECONDS_OF_AN_ITERATION, SECONDS_OF_A_TASK = 3e-9, 1e-6  # about, to choose the number of steps
FEWEST_STEPS, MOST_STEPS = 20, 10_000


@dataclass(frozen=True)
class Layout:
    """Ranks, and threads of each."""

    ranks: int
    threads: int

    @property
    def cores(self) -> int:
        """That it keeps busy."""
        return self.ranks * self.threads

    def __str__(self) -> str:
        return f"{self.ranks}x{self.threads}"


@dataclass(frozen=True)
class Work:
    """What contenders that are compared have in common."""

    pattern: str
    cores: int
    size: int  # bytes of a task's output
    imbalance: float  # of the iterations of a task, at most so much less or more
    per_core: int = 1  # points

    def arguments(self, iterations: int, seconds: float) -> list[str]:
        """For Task Bench; about so many seconds of work."""
        width = self.cores * self.per_core
        expected = iterations * SECONDS_OF_AN_ITERATION + SECONDS_OF_A_TASK
        steps = int(seconds / (expected * self.per_core))
        line = ["-type", self.pattern, "-width", width, "-steps", min(MOST_STEPS, max(FEWEST_STEPS, steps))]
        radix = min(RADIX, width)
        if "r" in PATTERNS[self.pattern]:
            line += ["-radix", radix]
        if "p" in PATTERNS[self.pattern]:
            line += ["-period", min(PERIOD, -(-width // radix))]
        line += ["-kernel", "load_imbalance" if self.imbalance else "compute_bound", "-iter", iterations]
        if self.imbalance:
            line += ["-imbalance", self.imbalance]
        return [*map(str, line), "-output", str(self.size)]

    def text(self) -> str:
        """A line's worth."""
        uneven = f", imbalance {self.imbalance:g}" if self.imbalance else ""
        return f"{self.pattern}, {self.cores} cores, {self.size} B{uneven}"


@dataclass(frozen=True)
class Contender:
    """A program on a layout."""

    name: str
    layout: Layout
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)  # all of it

    @property
    def key(self) -> str:
        """It and its layout."""
        return f"{self.name} {self.layout}"


def own(text: str, layout: Layout) -> Contender:
    """A contender of the user's: NAME=COMMAND, with {ranks} and {threads}; Task Bench's options are added. Raises
    ValueError."""
    name, equals, command = text.partition("=")
    if not equals or not name or not command:
        raise ValueError(f"{text!r} is not NAME=COMMAND")
    try:
        words = [word.format(ranks=layout.ranks, threads=layout.threads) for word in shlex.split(command)]
    except (KeyError, IndexError) as error:
        raise ValueError(f"{text!r}: braces are for {{ranks}} and {{threads}}") from error
    return Contender(name, layout, words, {**os.environ, "OMP_NUM_THREADS": str(layout.threads)})


def fits(form: str, layout: Layout) -> str:
    """Why a form cannot run on a layout; nothing if it can."""
    if FORMS[form].starts == LOCAL and layout.ranks > 1:
        return "it has one rank"
    if not FORMS[form].threads and layout.threads > 1:
        return "its ranks have one thread"
    return ""


def contender(builder: Builder, form: str, mpi: str, layout: Layout, timeout: float) -> Contender:
    """A form, by an MPI if it is one. Raises MissingError, FailedError."""
    program = builder.program(form, mpi)
    name = f"{form} {mpi}" if mpi else form
    crowded = layout.cores > catalog.cores()
    variables = openmp(layout.threads, crowded) if FORMS[form].openmp else {}
    if FORMS[form].starts == MPI:
        launch = bound(examples.launch(builder.build, mpi, layout.ranks), layout, crowded)
        return Contender(name, layout, launch.line(layout.ranks, program, []), launch.environment(variables))
    if FORMS[form].starts == LAYER:
        launcher = catalog.find_program(catalog.table(builder.build)["ompl"], catalog.LAUNCHER, builder.build, None)
        line = [str(launcher), "--no-prefix", "--timeout", str(timeout), "-n", str(layout.ranks), str(program)]
        return Contender(name, layout, [*line, "-threads", str(layout.threads)], dict(os.environ))
    return Contender(name, layout, [str(program), "-worker", str(layout.threads)], {**os.environ, **variables})


def openmp(threads: int, crowded: bool) -> dict[str, str]:
    """Variables under which OpenMP's threads do best here: each on its core, loops divided beforehand."""
    places = {} if crowded or threads == 1 else {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    return {"OMP_NUM_THREADS": str(threads), "OMP_SCHEDULE": "static", **places}


def bound(launch: examples.Launch, layout: Layout, crowded: bool) -> examples.Launch:
    """Ranks of one thread are bound to cores, as this layer's launcher does by itself."""
    if crowded or layout.threads > 1:
        return launch
    command = list(launch.command)
    if "--bind-to" in command:
        command[command.index("--bind-to") + 1] = "core"
    elif launch.mpi.startswith("mpich"):
        command += ["-bind-to", "core"]
    return replace(launch, command=command)


def contenders(
    builder: Builder, forms: Sequence[str], mpis: Sequence[str], layouts: Sequence[Layout], timeout: float
) -> tuple[list[Contender], dict[str, str]]:
    """All that can be had, and why others cannot, by name and layout."""
    found: list[Contender] = []
    missing: dict[str, str] = {}
    for form in forms:
        for mpi in mpis if FORMS[form].starts == MPI else [""]:
            for layout in layouts:
                name = f"{form} {mpi}".strip()
                if why := fits(form, layout):
                    missing[f"{name} {layout}"] = why
                    continue
                try:
                    found.append(contender(builder, form, mpi, layout, timeout))
                except (MissingError, FailedError) as error:
                    missing[f"{name} {layout}"] = str(error)
    return found, missing


def layouts(text: str) -> list[Layout]:
    """Of a comma-separated list of RANKSxTHREADS; nothing: all cores as ranks, and as threads of one rank. Raises
    ValueError."""
    if not text:
        cores = catalog.cores()
        return list(dict.fromkeys([Layout(cores, 1), Layout(1, cores)]))
    found = []
    for word in text.split(","):
        ranks, times, threads = word.strip().partition("x")
        if not times or not ranks.isdigit() or not threads.isdigit() or int(ranks) * int(threads) == 0:
            raise ValueError(f"{word.strip()!r} is not RANKSxTHREADS, for example 2x1")
        found.append(Layout(int(ranks), int(threads)))
    return list(dict.fromkeys(found))

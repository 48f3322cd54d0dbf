# SPDX-License-Identifier: BSD-3-Clause
"""What omni overlap measures: who computes where, how much, and by which settings of an MPI.

Names and formulas are those of the paper on progress threads (CITATION.cff), table 1 and section 4.3.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries.catalog import Found, MissingError, Setting

NONE, SPARE, SHARED, IDLE, NODE, LOCKED_QUEUE = "none", "spare", "shared", "idle", "node", "locked-queue"
PAPERS_MODES = (NONE, SPARE, SHARED)
MODES = (*PAPERS_MODES, IDLE, NODE, LOCKED_QUEUE)
THREADED = (SPARE, SHARED, LOCKED_QUEUE)  # a progress thread in each process
COLLECTIVES = ("allgather", "allreduce", "broadcast", "alltoall", "reduce-scatter")
KERNELS = ("memory", "registers")
DEFAULT = "default"  # algorithm: what the library chooses
PAPER = "paper"  # computation: as much as the paper's

SMALL = 8192  # bytes: the last size with
SMALL_ELEMENTS = 100_000  # for each core of a node; beyond it
LARGE_ELEMENTS = 5_000_000


class PlanError(Exception):
    """A layout that cannot be; says why."""


@dataclass(frozen=True)
class Layout:
    """Nodes, made of this machine's cores: each has n_cpu of them, which p_node processes divide."""

    n_node: int
    n_cpu: int
    p_node: int
    cores: tuple[int, ...]  # of this machine
    alone: bool = False  # rank 0 computes, the others only communicate, on the core of its progress thread

    def __post_init__(self) -> None:
        if self.n_cpu % self.p_node:
            raise PlanError(f"{self.n_cpu} cores of a node cannot be divided among {self.p_node} processes")

    @property
    def ranks(self) -> int:
        """Of the job."""
        return self.n_node * self.p_node

    @property
    def share(self) -> int:
        """Cores of a process."""
        return self.n_cpu // self.p_node

    def t_calc(self, mode: str) -> int:
        """Computing threads of a process: equations 2 and 3. Raises PlanError where no core is left for them."""
        threads = self.share - (mode == SPARE)
        if threads < 1:
            raise PlanError(
                f"a spare core needs two cores for each process; n_cpu/p_node is {self.n_cpu}/{self.p_node}"
            )
        return threads

    def t_process(self, mode: str) -> int:
        """Threads of a process, its progress thread too."""
        return self.t_calc(mode) + (mode in THREADED)

    def t_node(self, mode: str) -> int:
        """Threads of a node; with mode node one of them makes progress for all."""
        return self.p_node * self.t_process(mode) + (mode == NODE)

    def elements(self, size: int) -> int:
        """N of a process in the paper, which gives 8192 B to both; here it is small."""
        return self.n_cpu * (SMALL_ELEMENTS if size <= SMALL else LARGE_ELEMENTS) // self.p_node

    def places(self, mode: str, rank: int) -> dict[str, list[int]]:
        """The core of each computing thread of a rank, and the cores of the library's own threads: the spare one, or
        all of the process."""
        if self.alone and rank:
            return {"cores": [self.cores[-1]], "helpers": [self.cores[-1]]}
        first = rank * self.share  # nodes one behind the other
        mine = [self.cores[core % len(self.cores)] for core in range(first, first + self.share)]
        if mode == SPARE:
            return {"cores": mine[:-1], "helpers": mine[-1:]}
        # Where nodes share cores, let their first threads, which wait for messages, have different ones.
        turn = rank // self.p_node % self.share if self.shares_cores else 0
        return {"cores": mine[turn:] + mine[:turn], "helpers": mine}

    @property
    def computing(self) -> range:
        """The ranks that compute."""
        return range(1 if self.alone else self.ranks)

    @property
    def shares_cores(self) -> bool:
        """Whether the machine has too few for all nodes."""
        return self.n_node * self.n_cpu > len(self.cores)

    @property
    def emulation(self) -> str | None:
        """What is not as on nodes of their own."""
        if self.alone:
            return "only rank 0 computes; the others communicate, on the core of its progress thread"
        many = self.n_node > 1
        text = f"{self.n_node} node{'s' if many else ''} of {self.n_cpu} cores"
        if self.shares_cores:
            return f"{text} on a machine of {len(self.cores)}, which share{'' if many else 's'} them in time"
        return f"{text} are cores of one machine" if many else None


@dataclass(frozen=True, order=True)
class Cell:
    """One point of a series."""

    collective: str
    size: int
    computation: str = PAPER  # or a multiple of the pure time, which mode none has
    kernel: str = KERNELS[0]
    skew_us: float = 0.0  # by which the last rank comes late


@dataclass(frozen=True)
class Series:
    """The processes of a library in one mode with one algorithm: what one job measures."""

    found: Found
    layout: Layout
    mode: str
    algorithm: str
    collectives: tuple[str, ...]  # that have the algorithm

    @property
    def key(self) -> tuple[str, int, str, str]:
        """Names it in files."""
        return self.found.library.name, self.layout.ranks, self.mode, self.algorithm

    @property
    def base(self) -> tuple[str, int, str, str]:
        """The key of the same in mode none."""
        return self.found.library.name, self.layout.ranks, NONE, self.algorithm

    def offered(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of its collectives."""
        return [cell for cell in cells if cell.collective in self.collectives]


@dataclass(frozen=True)
class Family:
    """A table of collectives.toml."""

    always: dict[str, str] = field(default_factory=dict)
    progress: dict[str, str] = field(default_factory=dict)
    more: dict[str, dict[str, str]] = field(default_factory=dict)  # by mode
    pinned: dict[str, str] = field(default_factory=dict)
    source: str = ""
    algorithms: dict[str, dict[str, str]] = field(default_factory=dict)  # by collective

    def settings(self, mode: str, algorithm: str) -> list[Setting]:
        """Of a series. Raises MissingError where the library has no such mode."""
        found = [self._setting(*one, "one thread communicates") for one in self.always.items()]
        found += [self._setting(*one, f"mode {mode}") for one in self._of_mode(mode).items()]
        if algorithm != DEFAULT:
            pins = {table["variable"]: table[algorithm] for table in self.algorithms.values() if algorithm in table}
            found += [self._setting(*one, f"algorithm {algorithm}") for one in (pins | self.pinned).items()]
        return found

    def _of_mode(self, mode: str) -> dict[str, str]:
        """Variables that switch it on."""
        if mode == NONE:
            return {}
        if mode in PAPERS_MODES and not self.progress:
            raise MissingError("it has no progress thread for its collectives")
        if mode not in PAPERS_MODES and mode not in self.more:
            raise MissingError(f"it has no mode {mode}")
        return self.more.get(mode, {variable: value.format(mode=mode) for variable, value in self.progress.items()})

    def has(self, collective: str, algorithm: str) -> bool:
        """Whether that algorithm can be pinned."""
        return algorithm == DEFAULT or algorithm in self.algorithms.get(collective, {})

    def _setting(self, variable: str, value: str, why: str) -> Setting:
        return Setting(variable, value, "always", why, self.source)


def families(build: Path) -> dict[str, Family]:
    """All tables of the collectives.toml of a build folder or an installation."""
    with (build / "bench" / "collectives.toml").open("rb") as file:
        tables: dict[str, dict[str, Any]] = tomllib.load(file)
    plain = ("always", "progress", "more", "pinned", "source")
    return {
        name: Family(
            **{key: table[key] for key in plain if key in table},
            algorithms={key: value for key, value in table.items() if key not in plain},
        )
        for name, table in tables.items()
    }


def algorithms(tables: dict[str, Family]) -> list[str]:
    """The names of all, in their order."""
    names = [name for one in tables.values() for table in one.algorithms.values() for name in table]
    return list(dict.fromkeys([DEFAULT, *(name for name in names if name != "variable")]))


def series(
    found: Found, family: Family, layout: Layout, mode: str, algorithm: str, collectives: Sequence[str]
) -> Series:
    """A library as the series needs it; raises MissingError or PlanError."""
    layout.t_calc(mode)
    offered = tuple(one for one in collectives if family.has(one, algorithm))
    passive = Setting(
        "OMP_WAIT_POLICY", "passive", "always", "threads that have nothing to compute leave their cores", "OpenMP"
    )
    library = found.library
    settings = [*library.settings, *family.settings(mode, algorithm), passive]
    if layout.alone:
        yields = "who only communicates leaves its core to the progress thread there while it waits"
        settings.append(Setting("OMPL_SPIN", "0", "always", yields, "ompl-info --variables"))
    return Series(replace(found, library=replace(library, settings=settings)), layout, mode, algorithm, offered)

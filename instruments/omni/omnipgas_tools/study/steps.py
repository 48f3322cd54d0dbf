# SPDX-License-Identifier: BSD-3-Clause
"""The steps of the study of halo exchange: those that its store has are left out."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.model.fit import machine
from omnipgas_tools.model.program import PredictionError
from omnipgas_tools.options import Bar, progress_console
from omnipgas_tools.solver import jobs, partition
from omnipgas_tools.study import measured, modelled
from omnipgas_tools.study.plan import BASE, PARTITIONS, STRATEGIES, WORKS, Plan
from omnipgas_tools.study.schedule import Compute
from omnipgas_tools.study.store import Store, StoreError

FAILURES = (
    PredictionError, StoreError, partition.PartitionError, catalog.MissingError, jobs.SolveError, *machine.FAILURES,
)  # fmt: skip
SECTIONS = ("exchanges", "neighbors", "solves", "modelled")  # that may be left out


def parameters(plan: Plan, given: dict[str, str], out: Path, quick: bool) -> dict[str, str]:
    """The files of the MPI and of this layer: those given, those that an earlier run left, or fitted now."""
    names = (plan.mpi, "ompl")
    if unknown := set(given) - set(names):
        raise typer.BadParameter(f"--params {unknown.pop()}: parameters are wanted of {' and '.join(names)}")
    files = {}
    for name in names:
        path = Path(given.get(name, out.with_suffix(f".{name}.json")))
        if name not in given and not path.exists():
            wanted = machine.plan(quick, timeout=min(plan.timeout, 60), seed=plan.seed)
            machine.fit_library(progress_console(), name, path, wanted)
        if not path.is_file():
            raise PredictionError(f"{path}: there is no such file")
        files[name] = str(path)
    return files


class Study:
    """The steps, those left out that stand in the store."""

    def __init__(self, plan: Plan, params: dict[str, str], store: Store, console: Console) -> None:
        self.plan, self.params, self.store, self.console = plan, params, store, console
        self.costs: list[partition.Cost] = []

    def run(self, sections: list[str]) -> None:
        """All that is asked for."""
        counts = sorted({*self.plan.parts, *([2] if self.plan.rates else [])})
        self.costs = self.step("partitions", "all", partial(partitions, self.plan, counts))
        for section in sections:
            {"exchanges": self.exchanges, "neighbors": self.neighbors, "solves": self.solves,
             "modelled": self.modelled}[section]()  # fmt: skip

    def exchanges(self) -> None:
        """Over shared memory, by more ranks than cores; between two hosts at each rate."""
        why = network.why_no_hosts() if self.plan.rates else ""
        if why:
            self.console.print(f"no exchanges between hosts: {why}", style="yellow")
        for cost in self.costs:
            pattern = partition.pattern(cost)
            if cost["parts"] in self.plan.exchanging:
                self.timed("exchanges", f"{name_of(cost)}, shm", partial(measured.exchange, pattern, self.plan, None))
            for rate in self.plan.rates if cost["parts"] == 2 and not why else []:
                name = f"{name_of(cost)}, {rate} Mbit/s"
                self.timed("exchanges", name, partial(measured.exchange, pattern, self.plan, rate))

    def neighbors(self) -> None:
        """Of rings: what a reset for each neighbour costs."""
        for count in self.plan.neighbors:
            self.timed("neighbors", str(count), partial(measured.neighbors, count, self.plan))

    def solves(self) -> None:
        """As many ranks as there are cores, and fewer."""
        for ranks in self.plan.ranks:
            self.timed("solves", str(ranks), partial(measured.solves, ranks, self.plan))

    def modelled(self) -> None:
        """Each work by each strategy on each partition."""
        for cost in (one for one in self.costs if one["parts"] in self.plan.parts):
            rows = cost["rows"] / cost["parts"]
            found = self.step("compute", str(cost["parts"]), partial(modelled.compute_at, rows, self.plan))
            compute = Compute(**found)
            for work in WORKS:
                for strategy in (BASE, *STRATEGIES.values()):
                    make = partial(modelled.seconds, cost, strategy, work, compute, self.params, self.plan)
                    self.step("modelled", f"{work}, {name_of(cost)}, {strategy}", make)

    def timed(self, section: str, name: str, make: Callable[[Progress], Any]) -> Any:
        """A step with a bar."""

        def now() -> Any:
            with Bar(self.console) as bar:
                return make(bar)

        return self.step(section, name, now)

    def step(self, section: str, name: str, make: Callable[[], Any]) -> Any:
        """One of the store, with a line when it is made."""

        def now() -> Any:
            self.console.print(f"{section}: {name}")
            return make()

        return self.store.step(section, name, now)


def partitions(plan: Plan, counts: list[int]) -> list[partition.Cost]:
    """With their messages."""
    return list(partition.costs(plan.matrix, list(PARTITIONS.values()), counts, plan.timeout, messages=True))


def name_of(cost: partition.Cost) -> str:
    """A partition's, in the store."""
    return f"{cost['partition']} {cost['parts']}"

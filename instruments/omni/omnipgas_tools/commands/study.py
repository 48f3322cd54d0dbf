# SPDX-License-Identifier: BSD-3-Clause
"""omni study halo: double-buffered halo exchange in products and CG beside plain RDMA and MPI, on row blocks and METIS
partitions; measured where there are cores for it, modelled for more parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, List, Optional  # noqa: UP035

import typer
from rich.console import Console

from omnipgas_tools.commands import partition, solve
from omnipgas_tools.libraries import peers
from omnipgas_tools.measure import network
from omnipgas_tools.measure.runner import Progress
from omnipgas_tools.model.fit import command as fit
from omnipgas_tools.model.predict import PredictionError
from omnipgas_tools.model.study import read_pair
from omnipgas_tools.options import INTERRUPTED, Bar, numbers, words
from omnipgas_tools.study import measured, modelled, tables
from omnipgas_tools.study.plan import BASE, MOST_RANKS, PARTITIONS, STRATEGIES, WORKS, Plan
from omnipgas_tools.study.schedule import Compute
from omnipgas_tools.study.store import Store, StoreError

FAILURES = (
    PredictionError, StoreError, partition.PartitionError, peers.MissingError, solve.SolveError,
)  # fmt: skip
SECTIONS = ("exchanges", "neighbors", "solves", "modelled")  # that may be left out
FULL = {"generate": "27pt:100", "parts": "4,8,16,32,64,100", "rates": "100,1000", "rounds": 30,
        "neighbors": "1,2,4,8,17"}  # fmt: skip
QUICK = {"generate": "27pt:16", "parts": "2,4", "rates": "", "rounds": 3, "neighbors": "1,2"}
ITERATIONS, FEW = 50, 10
SECONDS, SHORT = 0.02, 0.002  # of a block of exchanges

app = typer.Typer(help="The papers' studies.", no_args_is_help=True, pretty_exceptions_enable=False)

GENERATE = typer.Option(None, "--generate", metavar="WHAT", help="As of omni cg. [27pt:100; quick: 27pt:16]")
MATRIX = typer.Option(None, "--matrix", metavar="FILE", help="Instead: Matrix Market, Harwell- or Rutherford-Boeing.")
PARTS = typer.Option(
    None, "--parts",
    help=f"Of the model, comma-separated; up to {MOST_RANKS} also exchange for real. [4,8,16,32,64,100; quick: 2,4]",
)  # fmt: skip
MPI = typer.Option("mpich", "--mpi", help="What the others are divided by, in whose processes they run.")
PARAMS = typer.Option(
    [], "--params", metavar="NAME=FILE", help="Parameters of the MPI, and of ompl, from omni model fit. [fitted now]"
)
RATES = typer.Option(None, "--rates", help="Mbit/s of links between two hosts (root); empty: none. [100,1000]")
CHOSEN = typer.Option(",".join(SECTIONS), "--sections", help="What is done, comma-separated.")
ROUNDS = typer.Option(None, "--rounds", min=1, help="Of measurements, at most. [30; quick: 3]")
NOISE = typer.Option(0.0, "--noise", min=0, help="Modelled computation takes longer by this part on average.")
RESET = typer.Option(100.0, "--reset-ns", min=0, help="Modelled time of resetting a mark: a cache line comes and goes.")
OUT = typer.Option(..., "-o", "--out", metavar="FILE", help="Result, JSON; tables and plot stand beside it.")
RESUME = typer.Option(False, "--resume", help="Go on with what stands in the result file.")
QUICKLY = typer.Option(False, "--quick", help="A small matrix, few parts and short rounds.")
TIMEOUT = typer.Option(600.0, "--timeout", min=0.1, help="Seconds until one job counts as hung.")
SEED = typer.Option(1, "--seed", help="Of the order of measurements, and of the noise.")


@app.callback()
def studies() -> None:
    """The papers' studies."""


@app.command()
def halo(
    out: Path = OUT,
    generate: Optional[str] = GENERATE,
    matrix: Optional[Path] = MATRIX,
    parts: Optional[str] = PARTS,
    mpi: str = MPI,
    params: List[str] = PARAMS,  # noqa: UP006
    rates: Optional[str] = RATES,
    sections: str = CHOSEN,
    rounds: Optional[int] = ROUNDS,
    noise: float = NOISE,
    reset_ns: float = RESET,
    resume: bool = RESUME,
    quick: bool = QUICKLY,
    timeout: float = TIMEOUT,
    seed: int = SEED,
) -> None:
    """Halo exchange in products and CG: omni study halo -o halo.json"""
    usual: dict[str, Any] = QUICK if quick else FULL
    if matrix is None and generate is None:
        generate = usual["generate"]
    links = usual["rates"] if rates is None else rates
    plan = Plan(
        matrix=partition.source(generate, matrix),
        parts=numbers("--parts", parts or usual["parts"], 2),
        ranks=[ranks for ranks in (2, 4, 8, 16) if ranks <= min(MOST_RANKS, peers.cores())],
        neighbors=numbers("neighbors", usual["neighbors"], 1),
        rates=numbers("--rates", links, 1) if links else [],
        mpi=mpi,
        iterations=FEW if quick else ITERATIONS,
        rounds=rounds or usual["rounds"],
        seconds=SHORT if quick else SECONDS,
        noise=noise,
        reset_ns=reset_ns,
        timeout=timeout,
        seed=seed,
    )
    chosen = words("--sections", sections, list(SECTIONS))
    console = Console(stderr=True, highlight=False)
    try:
        given = dict(read_pair(text) for text in params)
        files = parameters(plan, given, out, quick) if "modelled" in chosen else {}
        store = Store(out, plan, files, resume)
        Study(plan, files, store, console).run(chosen)
    except FAILURES as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, markup=False)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as stop:
        console.print(f"Interrupted; --resume goes on with {out}.")
        raise typer.Exit(INTERRUPTED) from stop
    text = tables.text(store.content)
    out.with_suffix(".md").write_text(text)
    typer.echo(text)
    from omnipgas_tools.study import plot

    plot.plot(out.with_suffix(".png"), store.content)
    console.print(f"Plot: {out.with_suffix('.png')}")


def parameters(plan: Plan, given: dict[str, str], out: Path, quick: bool) -> dict[str, str]:
    """The files of the MPI and of this layer: those given, those that an earlier run left, or fitted now."""
    wanted = (plan.mpi, "ompl")
    if unknown := set(given) - set(wanted):
        raise typer.BadParameter(f"--params {unknown.pop()}: parameters are wanted of {' and '.join(wanted)}")
    files = {}
    for name in wanted:
        path = Path(given.get(name, out.with_suffix(f".{name}.json")))
        if name not in given and not path.exists():
            fit.fit_command(
                out=path, mpi=name, again=None, over=None, hosts=1, rate=None, largest=None, rounds=None, quick=quick,
                timeout=min(plan.timeout, 60), plot=None, seed=plan.seed,
            )  # fmt: skip
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
            self.console.print(f"no exchanges between hosts: {why}", style="yellow", markup=False)
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
            self.console.print(f"{section}: {name}", markup=False)
            return make()

        return self.store.step(section, name, now)


def partitions(plan: Plan, counts: list[int]) -> list[partition.Cost]:
    """With their messages."""
    return list(partition.costs(plan.matrix, list(PARTITIONS.values()), counts, plan.timeout, messages=True))


def name_of(cost: partition.Cost) -> str:
    """A partition's, in the store."""
    return f"{cost['partition']} {cost['parts']}"

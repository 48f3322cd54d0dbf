# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of omni pingpong, omni rate and omni endpoints: libraries beside each other and a baseline."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import typer

from omnipgas_tools.libraries import catalog, installation
from omnipgas_tools.measure import endpoints, network, results, resuming, runner
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.session import Session
from omnipgas_tools.measure.worker import WorkerError
from omnipgas_tools.options import Bar, on_hosts, words
from omnipgas_tools.report import terminal

LIBRARIES = "raw,ompl,mpich,openmpi,intel,mpich-debian,openmpi-debian"
NETWORK_LIBRARIES = "ofi,ucx,ompl,mpich,openmpi"


@dataclass(frozen=True)
class Request:
    """What is measured."""

    bench: str
    libs: list[str]
    ops: list[str]
    threads: list[int]
    sizes: list[int]
    percentiles: bool = False
    hosts: int = 1
    over: tuple[str, ...] = ()
    processes: bool = False
    resume: bool = False


def measure(request: Request, session: Session) -> typer.Exit:
    """Measures, reports; the end of the command."""
    limits = session.limits
    kept = resuming.kept(session.json, request.bench, asdict(limits)) if request.resume else resuming.Kept()
    complete: list[results.Result] = []

    def keep(outcome: runner.Outcome, cells: Sequence[runner.Cell]) -> None:
        """What is complete so far goes into the file, as of a run that was interrupted."""
        complete.extend(map(results.from_cell, cells))
        session.write(rows + kept.rows + complete, kept.libraries | outcome.started, True)

    with on_hosts(request.hosts, catalog.RANKS) as hosts, Bar(session.console) as bar:
        contenders, rows = contenders_of(request, hosts)
        done = kept.apply(contenders)
        outcome = runner.run_interleaved(
            request.bench,
            contenders,
            request.threads,
            request.sizes,
            limits,
            seed=session.seed,
            progress=bar,
            done=done,
            keep=keep if session.json not in (None, "-") else None,
        )
    outcome.started = kept.libraries | outcome.started
    rows += kept.rows + [results.from_cell(cell) for cell in outcome.cells]
    terminal.show(session.console, request.bench, outcome, rows)
    if done:
        session.console.print(f"{len(kept.rows)} results of {session.json} were kept.")
    return session.end(
        rows, outcome.started, outcome.interrupted,
        lambda plots, path: plots.plot(path, request.bench, rows, request.percentiles),
    )  # fmt: skip


def measure_endpoints(request: Request, sizes: list[int], session: Session) -> typer.Exit:
    """The same over one transport, by pools of these sizes of this layer, and of libraries that let one choose."""
    build = catalog.build_dir()
    transport = request.over[0]
    with on_hosts(request.hosts, catalog.RANKS) as hosts, Bar(session.console) as bar:
        baseline = replace(request, libs=[network.TRANSPORTS[transport][0], *request.libs])
        contenders, rows = contenders_of(baseline, hosts)
        try:
            here = catalog.find(catalog.table(build)[endpoints.LAYER], build)
        except catalog.MissingError as missing:
            raise typer.BadParameter(str(missing), param_hint=endpoints.LAYER) from missing
        mine = [runner.Contender(one, "put") for one in endpoints.pools(here, transport, hosts, sizes)]
        all_of_them = mine + endpoints.swept(contenders, sizes)
        outcomes = endpoints.measure(all_of_them, request.threads, session.limits, session.seed, bar)
    costs = {}
    measured = {cell.contender.library for cell in outcomes[1].cells if not outcomes[1].interrupted}
    for found in {one.library: one.found for one in all_of_them if one.library in measured}.values():
        if not found.endpoints or (found.hosts and found.library.name != endpoints.LAYER):
            continue  # what others take over a network is not known
        try:
            costs[found.name] = endpoints.peer_cost(build, found)
        except (catalog.MissingError, WorkerError, OSError) as error:
            session.console.print(f"memory per peer of {found.name}: {error}", style="yellow")
    rows = endpoints.rows(outcomes, costs) + rows
    endpoints.show(session.console, rows, request.hosts)
    started = {name: how for outcome in outcomes for name, how in outcome.started.items()}
    interrupted = any(outcome.interrupted for outcome in outcomes)
    return session.end(rows, started, interrupted, lambda plots, path: plots.endpoints(path, rows))


def contenders_of(request: Request, hosts: catalog.Hosts | None) -> tuple[list[runner.Contender], list[results.Result]]:
    """What can be measured, and results that say why the rest cannot."""
    build = catalog.build_dir()
    contenders, rows = [], []
    for name in request.libs:
        library = catalog.table(build)[name]
        ops = [op for op in request.ops if op in library.ops]
        try:
            here = installation.find(library, build)
            found = network.contenders(here, list(request.over), hosts)
            if request.processes and not hosts:
                found = [*found, *(replace(one, processes=True) for one in found)]
            contenders += [runner.Contender(one, op) for one in found for op in ops]
        except catalog.MissingError as missing:
            rows += [results.skipped(request.bench, name, op, str(missing)) for op in ops]
    return contenders, rows


def limits(quick: bool, repeat: int | None, timeout: float | None, default: float, starts: int | None = 1) -> Limits:
    """Those of the options; `default`: the usual timeout."""
    usual = runner.QUICK if quick else replace(runner.FULL, timeout=default)
    rounds, starts = repeat or usual.rounds, starts or usual.starts
    starts = min(starts, rounds)
    fewest = min(rounds, usual.min_rounds)
    return replace(usual, rounds=rounds, min_rounds=fewest, starts=starts, timeout=timeout or usual.timeout)


def transports(hosts: int, over: str | None) -> tuple[str, ...]:
    """What is measured over; nothing: memory."""
    chosen = over or ("tcp" if hosts == 2 else "")
    return tuple(words("--over", chosen, list(network.TRANSPORTS)))


def libraries(libs: str | None, over: tuple[str, ...]) -> list[str]:
    """Those asked for, or those that fit; a baseline only if it goes over one of the transports."""
    if libs and libs != "all":
        return words("--libs", libs, list(catalog.table()))
    baselines = {network.TRANSPORTS[transport][0] for transport in over}
    chosen = list(catalog.table()) if libs else (NETWORK_LIBRARIES if over else LIBRARIES).split(",")
    return [name for name in chosen if name not in ("sockets", "psm2", "ofi", "ucx") or name in baselines]

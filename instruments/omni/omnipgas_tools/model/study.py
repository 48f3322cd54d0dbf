# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian elimination predicted and measured, laid out as tables 7 and 10 of the LogGPS paper.

In each round the original program is traced; from that trace alone its time is predicted with S as it is, with a larger
S, and with its messages cut (what-if). The cut program is traced too, and predicted from its own trace, as the paper
does. Then all three are measured. The median of the predictions is set beside that of the measurements: a machine that
is slower for a while is so for both."""

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results
from omnipgas_tools.model import build_examples, examples, timer
from omnipgas_tools.model.fit import eager
from omnipgas_tools.model.program import PredictionError
from omnipgas_tools.model.tracers import choose
from omnipgas_tools.model.validate import Comparison, bounds, compare
from omnipgas_tools.model.whatif import ask, time_of
from omnipgas_tools.report.table import markdown
from omnipgas_tools.targets.target import Target

SCHEMA = "omnipgas-study-gauss-1"
MODELS = ("loggps", "loggp-1", "loggp-2")
LOGGP = ("LogGP-1", "LogGP-2")
VARIANTS = ("original", "larger", "fragmented")
PAGE = 65536  # bytes; the larger S of the paper, enough for its longest message
BYTES_PER_ROW = 16  # of the longest message: two columns of doubles


@dataclass(frozen=True)
class Plan:
    """What is run."""

    sizes: list[int]
    ranks: int
    runs: int
    limit: int  # S of the original
    timeout: float

    @property
    def larger(self) -> int:
        """An S that is enough for every message."""
        longest = BYTES_PER_ROW * (max(self.sizes) + 1)
        return max(PAGE, longest + -longest % 1024)


def read_pair(text: str) -> tuple[str, str]:
    """MPI=FILE."""
    mpi, equals, file = text.partition("=")
    if not (mpi and equals and file):
        raise typer.BadParameter(f"--params {text}: give MPI=FILE, such as mpich=params.json")
    return mpi, file


def read_sizes(text: str) -> list[int]:
    """Even numbers from 2 on."""
    try:
        found = [int(one) for one in text.split(",")]
    except ValueError:
        found = []
    if not found or any(one < 2 or one % 2 for one in found):
        raise typer.BadParameter(f"--sizes {text}: give even numbers from 2 on, with commas between them")
    return found


def run(plan: Plan, params: dict[str, str], console: Console) -> dict[str, Any]:
    """Everything measured and predicted."""
    rows = []
    for mpi, file in params.items():
        for n in plan.sizes:
            console.print(f"{mpi}, n = {n}")
            rows += list(one_size(plan, mpi, file, n))
    return {"schema": SCHEMA, "machine": results.machine(), "plan": asdict(plan) | {"larger": plan.larger},
            "params": params, "rows": rows}  # fmt: skip


def one_size(plan: Plan, mpi: str, params: str, n: int) -> Iterator[dict[str, Any]]:
    """A row for each variant of the program that this MPI can run."""
    build = catalog.build_dir()
    launch = examples.launch(build, mpi, plan.ranks)
    program = build_examples.ready(build, mpi, "gauss")
    if not program.is_file():
        raise PredictionError(f"{program} is not built: run make")
    settings = {"original": eager.limit(mpi, plan.limit), "larger": eager.limit(mpi, plan.larger)}
    settings["fragmented"] = settings["original"]
    variants = [one for one in VARIANTS if one != "larger" or settings[one] is not None]
    lines = {one: launch.line(plan.ranks, program, [n, plan.limit if one == "fragmented" else 0]) for one in variants}
    env = {one: launch.environment(settings[one] or {}) for one in variants}
    # Without a limit to set, S is what was fitted.
    limits = {one: (plan.larger if one == "larger" else plan.limit) if settings[one] else None for one in variants}
    only = {"original": limits["fragmented"]}
    rounds: list[dict[str, dict[str, Any]]] = []  # by model and variant
    cuts: list[dict[str, dict[str, Any]]] = []
    times: dict[str, list[float]] = {one: [] for one in variants}
    with tempfile.TemporaryDirectory(prefix="omni-study-") as folder:
        for number in range(plan.runs):
            whole, cut = Path(folder, f"original-{number}"), Path(folder, f"fragmented-{number}")
            trace(lines["original"], env["original"], whole, plan.timeout)
            rounds.append({model: predict(whole, params, model, plan.limit, limits) for model in MODELS})
            trace(lines["fragmented"], env["fragmented"], cut, plan.timeout)
            cuts.append({model: predict(cut, params, model, plan.limit, only) for model in MODELS})
            for one in variants:
                times[one].append(timer.run(lines[one], plan.timeout, env[one]).asked)
    predicted = {model: {one: middle(rounds, model, one) for one in variants} for model in MODELS}
    own = {model: middle(cuts, model, "original") for model in MODELS}
    for one in variants:
        # What is compared is the paper's way: the cut program from its own trace, the others from the original's.
        chosen = {model: own[model] if one == "fragmented" else predicted[model][one] for model in MODELS}
        measured = compare(times[one], chosen["loggps"]["seconds"])
        yield {
            "mpi": mpi, "n": n, "variant": one, "S": limits[one],
            "measured": {"runs": times[one], "median": measured.median, "low": measured.low, "high": measured.high},
            "predicted": chosen,
            "what_if": {model: predicted[model][one] for model in MODELS},
        }  # fmt: skip


def middle(rounds: list[dict[str, dict[str, Any]]], model: str, variant: str) -> Any:
    """The prediction with the median time."""
    found = [one[model][variant] for one in rounds]
    wanted = statistics.median_low([one["seconds"] for one in found])
    return next(one for one in found if one["seconds"] == wanted)


def trace(command: list[str], env: dict[str, str], folder: Path, limit: float) -> None:
    """A traced run."""
    folder.mkdir()
    tracer = choose(catalog.build_dir(), command)
    timer.finish(command, env | tracer.preload(folder), limit)


def predict(folder: Path, params: str, model: str, cut: int, limits: dict[str, int | None]) -> dict[str, Any]:
    """The time of each variant from one trace, and where it goes."""
    changes: list[dict[str, Any]] = []
    for variant, limit in limits.items():
        change: dict[str, Any] = {"name": variant}
        if limit is not None and model != "loggp-1":  # which knows no synchronization
            change["set"] = {"S": limit}
        if variant == "fragmented":
            change["fragment"] = cut
        changes.append(change)
    found = {}
    for row in ask(str(folder), params, model, [], changes)["changes"]:
        if "error" in row:
            raise PredictionError(f"{row['name']} under {model}: {row['error']}")
        kept = {name: row[name] for name in ("rendezvous", "per_rank_mean")}
        found[row["name"]] = {"seconds": time_of(row), **kept}
    return found


def error_of(row: dict[str, Any], model: str, kind: str = "predicted") -> float:
    """Percent; more than 0 if the prediction is too long."""
    measured: float = row["measured"]["median"]
    predicted: float = row[kind][model]["seconds"]
    return 100 * (predicted - measured) / measured


def tables(found: dict[str, Any]) -> str:
    """Tables 7 and 10, and what was predicted from the original's trace alone."""
    plan = found["plan"]
    title = f"Gaussian elimination, {plan['ranks']} ranks; seconds, errors in percent"
    parts = [("Measured and predicted, LogGPS (laid out as table 7)", "loggps", "predicted", True)]
    parts += [(f"Predicted, {name} (laid out as table 10)", name.lower(), "predicted", False) for name in LOGGP]
    parts += [("Predicted by what-if from the trace of the original, LogGPS", "loggps", "what_if", False)]
    text = [f"# {title}", "", f"- A: the original program, S = {plan['limit']}."]
    text += [f"- B: the original program, S = {plan['larger']}.", f"- C: its messages cut, S = {plan['limit']}.", ""]
    for heading, model, kind, measured in parts:
        text += [f"## {heading}", "", *table(found, model, kind, measured), ""]
    return "\n".join(text)


def table(found: dict[str, Any], model: str, kind: str, measured: bool) -> list[str]:
    """Lines of one table: a row for each MPI and size, columns for each variant: A, B, C."""
    heads = ["MPI", "n"]
    for letter, _ in zip("ABC", VARIANTS, strict=True):
        heads += [f"{letter}, meas."] if measured else []
        heads += [f"{letter}, pred.", "err."]
    rows = {(row["mpi"], row["n"], row["variant"]): row for row in found["rows"]}
    lines = []
    for mpi, n in dict.fromkeys((row["mpi"], row["n"]) for row in found["rows"]):
        cells = [mpi, str(n)]
        for variant in VARIANTS:
            row = rows.get((mpi, n, variant))
            cells += cells_of(row, model, kind, measured)
        lines.append(cells)
    return markdown(heads, lines)


def cells_of(row: dict[str, Any] | None, model: str, kind: str, measured: bool) -> list[str]:
    """Of one variant; dashes where the library has no limit to set."""
    if row is None:
        return ["-"] * (2 + measured)
    cells = [f"{row['measured']['median']:.4g}"] if measured else []
    return [*cells, f"{row[kind][model]['seconds']:.4g}", f"{error_of(row, model, kind):+.1f}"]


def figures(found: dict[str, Any], title: str = "gauss", why: str = "nothing was measured") -> list[Target]:
    """The errors of LogGPS; `why`: if there are no rows."""
    out = []
    for kind, what in (("predicted", "predicted"), ("what_if", "what-if")):
        compared = [
            (
                f"{row['mpi']}, n = {row['n']}, {row['variant']}",
                Comparison(**row["measured"], predicted=row[kind]["loggps"]["seconds"]),
            )
            for row in found["rows"]
        ]
        out += bounds(f"{title}, {what}", compared, why)
    return out

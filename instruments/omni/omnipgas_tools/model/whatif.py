# SPDX-License-Identifier: BSD-3-Clause
"""What would change if the machine, the library or the program were different."""

import json
import math
import re
from itertools import pairwise
from typing import Any

from rich.console import Console

from omnipgas_tools.model import program
from omnipgas_tools.model.predict import seconds
from omnipgas_tools.model.program import PredictionError
from omnipgas_tools.report.terminal import table_of

POINTS = 32  # of a sweep, at most
LENGTHS = ("S", "s")
UNITS = {"": 1.0, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
VALUE = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)([A-Za-z]*)")

Change = dict[str, Any]


def ask(trace: str, params: str, model: str, options: list[str], changes: list[Change]) -> dict[str, Any]:
    """What ompl-model says. Raises PredictionError."""
    line = ["whatif", trace, "--params", params, "--model", model, "--changes", "-", *options]
    answer: dict[str, Any] = json.loads(program.run(*line, given=json.dumps(changes)).stdout)
    return answer


def read_change(
    sets: list[str], machine: str | None, factor: float | None, collectives: list[str], fragment: bool
) -> Change:
    """The options as one change, for ompl-model; empty if none was given."""
    change: Change = {"set": {}, "scale": {}, "collectives": {}}
    for text in sets:
        name, value = split(text, "--set")
        if value.endswith("x"):
            change["scale"][name] = number(value[:-1], text)
        else:
            change["set"][name] = quantity(name, value, text)
    for text in collectives:
        name, value = split(text, "--collective")
        change["collectives"][name] = value
    if factor is not None:
        change["scale"]["compute"] = factor
    if machine is not None:
        change["machine"] = machine
    if fragment:
        change["fragment"] = True
    return {key: value for key, value in change.items() if value}


def split(text: str, option: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise PredictionError(f"{option} {text}: give NAME=VALUE")
    return name, value


def number(value: str, text: str) -> float:
    """A number from 0 on."""
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not (0 <= found < math.inf):
        raise PredictionError(f"{text}: {value or 'nothing'} is no number from 0 on")
    return found


def quantity(name: str, value: str, text: str) -> float:
    """A length in bytes, or a time in nanoseconds, from a number and perhaps a unit."""
    units: dict[str, Any] = BINARY if name in LENGTHS else UNITS
    found = VALUE.fullmatch(value)
    if not found or found[2] not in units:
        raise PredictionError(f"{text}: give a number and perhaps {', '.join(filter(None, units))}")
    return number(found[1], text) * float(units[found[2]])


def describe(change: Change) -> str:
    """A change in a few words."""
    words = [f"on {change['machine']}"] if "machine" in change else []
    words += [f"{name} = {value:.15g}" for name, value in change.get("set", {}).items()]
    words += [f"{name} x {value:g}" for name, value in change.get("scale", {}).items()]
    words += [f"{name} by {value}" for name, value in change.get("collectives", {}).items()]
    return ", ".join([*words, *(["messages cut to S"] if change.get("fragment") else [])])


def sweep_of(text: str, change: Change, survey: dict[str, Any]) -> list[Change]:
    """A change for each value: S at the lengths of messages at which something changes, others in even ratios."""
    name, values = split(text, "--sweep")
    first, colon, last = values.partition(":")
    if not colon:
        raise PredictionError(f"--sweep {text}: give NAME=FROM:TO")
    low, high = quantity(name, first, text), quantity(name, last, text)
    if low > high:
        raise PredictionError(f"--sweep {text}: {first} is more than {last}")
    if name == "S":
        at = [low, *(float(bytes_) for bytes_, _ in survey["lengths"] if low < bytes_ <= high)]
        chosen = evenly(at)
    elif low <= 0:
        raise PredictionError(f"--sweep {text}: the steps are ratios, so begin above 0")
    else:
        steps = 1 if low == high else 16
        chosen = [low * (high / low) ** (i / steps) for i in range(steps + 1)][: steps + (low != high)]
        chosen = [float(round(value)) for value in chosen] if name in LENGTHS else chosen
    made = []
    for value in chosen:
        one = change | {"set": change.get("set", {}) | {name: value}}
        made.append({"name": describe(one), **one})
    return made


def evenly(values: list[float]) -> list[float]:
    """At most POINTS of them, the first and the last among them."""
    if len(values) <= POINTS:
        return values
    return [values[round(i * (len(values) - 1) / (POINTS - 1))] for i in range(POINTS)]


def likely(first: dict[str, Any]) -> list[Change]:
    """What may help: every parameter halved and doubled, S at other lengths, messages cut, other algorithms."""
    survey = first["survey"]
    changes: list[Change] = []
    for name, value in survey["parameters"].items():
        if value and name != "S":
            changes += [{"scale": {name: 0.5}}, {"scale": {name: 2.0}}]
    changes += [{"set": {"S": value}} for value in other_limits(survey)]
    if any(row["messages"] for row in survey.get("fragmenting", {}).get("per_rank", [])):
        changes.append({"fragment": True})
    for kind, algorithms in survey["algorithms"].items():
        changes += [{"collectives": {kind: name}} for name in algorithms[1:]]
    return [{"name": describe(change), **change} for change in changes]


def other_limits(survey: dict[str, Any]) -> list[int]:
    """Values of S at which other messages than now are sent without synchronization: a step up and down, and all."""
    lengths = [bytes_ for bytes_, _ in survey["lengths"]]
    now = survey["parameters"].get("S")
    if now is None:  # LogGP-1 knows no synchronization
        return []
    above = [bytes_ for bytes_ in lengths if bytes_ > now]
    below = [bytes_ for bytes_ in lengths if bytes_ <= now]
    down = [low for low, high in pairwise([0, *below]) if high == below[-1]]
    return sorted({*above[:1], *above[-1:], *down})


def time_of(outcome: dict[str, Any]) -> float:
    """Of the marked part of the program, if there is one; else of all."""
    return float(outcome.get("region_seconds", outcome["predicted_seconds"]))


def compare(answer: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    """Each change with its time and what it saves, and the estimate of what cutting messages costs."""
    before = time_of(answer["base"])
    answer["base"]["time_seconds"] = before
    for row, change in zip(answer["changes"], changes, strict=True):
        row["change"] = {key: value for key, value in change.items() if key != "name"}
        if "error" not in row:
            row["time_seconds"] = time_of(row)
            row["saves_seconds"] = before - row["time_seconds"]
    ranks = answer["survey"].get("fragmenting", {}).get("per_rank", [])
    if any(row["messages"] for row in ranks):
        mean = {key: sum(row[key] for row in ranks) / len(ranks) for key in ranks[0]}
        waits = answer["base"]["per_rank_mean"]["send_wait"]
        answer["fragmenting"] = {"per_rank_mean": mean, "send_wait": waits, "promising": mean["seconds"] < waits}
    return answer


def matters(row: dict[str, Any], before: float) -> bool:
    """Whether a change makes a difference that is worth a row."""
    return "error" in row or abs(row["saves_seconds"]) >= 0.001 * before


def show(console: Console, answer: dict[str, Any], ranked: bool) -> None:
    """The answer as a table; one that is ranked without what changes next to nothing."""
    base = answer["base"]
    what = "the marked part" if "region_seconds" in base else "the whole program"
    console.print(f"{answer['input']} on {answer['machine']} under {answer['model']}, {what}:")
    table = table_of("+change", ">time", ">saves", ">%", ">rendezvous", ">send wait", ">recv wait", left=1)
    table.add_row(*cells(base | {"name": "none"}, base["time_seconds"]))
    rows = [row for row in answer["changes"] if not ranked or matters(row, base["time_seconds"])]
    for row in rows:
        table.add_row(*cells(row, base["time_seconds"]))
    console.print(table)
    if len(rows) < len(answer["changes"]):
        console.print(f"{len(answer['changes']) - len(rows)} more changes make less than 0.1 %")
    console.print("waiting: mean of the ranks, of the whole program")
    if "fragmenting" in answer:
        console.print(fragmenting_line(answer), markup=False, soft_wrap=True)


def cells(row: dict[str, Any], before: float) -> list[str]:
    """A row of the table."""
    if "error" in row:
        return [row["name"], row["error"].split("\n")[0]]
    saves, waits = before - row["time_seconds"], row["per_rank_mean"]
    part = f"{100 * saves / before:.1f}" if before else ""
    times = [row["time_seconds"], saves, waits["send_wait"], waits["recv_wait"]]
    time, gain, send, recv = (seconds(value) if value else "0" for value in times)
    return [row["name"], time, gain, part, str(row["rendezvous"]), send, recv]


def fragmenting_line(answer: dict[str, Any]) -> str:
    """Section 4.4 of the paper: an estimate before anything is replayed or measured."""
    estimate, limit = answer["fragmenting"], answer["survey"]["fragmenting"]["S"]
    mean = estimate["per_rank_mean"]
    verdict = "promising" if estimate["promising"] else "no gain by this estimate, which counts the whole transfer"
    return (
        f"cutting messages above S = {limit}: {mean['bytes'] / (1 << 20):.4g} MiB a rank in {mean['pieces']:.0f} "
        f"pieces take {seconds(mean['seconds'])}, against {seconds(estimate['send_wait'])} of send waiting: {verdict}"
    )

# SPDX-License-Identifier: BSD-3-Clause
"""results.Result files of omni pingpong, rate and memory as one page without a network, and as a table (CSV)."""

import csv
import io
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from omnipgas_tools import __version__, files
from omnipgas_tools.documents import DocumentError
from omnipgas_tools.measure import results
from omnipgas_tools.report import web_page

WEB = web_page.WEB
SCRIPTS = ("chart.js", "comparison.js")
BENCHES = ("pingpong", "rate", "flow", "memory")
PLAIN = (
    "bench", "library", "op", "ranks", "threads", "size", "status", "reason", "version", "transport", "endpoints",
    "bandwidth_MBps", "rate_Mps", "cpu_us_per_message", "startup_s", "memory_MiB", "memory_per_peer_KiB",
    "descriptors_per_peer", "failed_claims",
)  # fmt: skip
LATENCY = ("slowest_thread_mean", "fastest_thread_mean", "mean", "p50", "p90", "p99", "min", "max", "count")
INTERVAL = ("low", "high", "rounds")


def side(paths: Sequence[Path]) -> dict[str, Any]:
    """What the page shows of the files of one machine: those of pingpong, rate and memory belong together."""
    contents = [read(path) for path in paths]
    if len({identity(content["machine"]) for content in contents}) > 1:
        raise typer.BadParameter(
            "the files are of different machines: set one beside the other (--beside)", param_hint="FILE"
        )
    return {
        "name": ", ".join(path.name.partition(".")[0] for path in paths),
        "machine": contents[0]["machine"],
        "date": contents[0]["command"].get("started", "")[:10],
        "interrupted": any(content["command"]["interrupted"] for content in contents),
        "command": "\n".join(shlex.join(["omni", *content["command"]["argv"][1:]]) for content in contents),
        "libraries": {name: how for content in contents for name, how in libraries(content).items()},
        "results": [row for content in contents for row in content["results"]],
    }


def identity(machine: dict[str, Any]) -> str:
    """What is the same of a machine at any hour: not its load, nor how much memory a virtual one has just now."""
    lasting = {name: value for name, value in machine.items() if name not in ("load", "memory_GiB")}
    topology = re.sub(r"(Machine \(|NUMANode L#\d+ \(P#\d+ )\d+MB", r"\1", str(lasting.get("topology")))
    return json.dumps(lasting | {"topology": topology}, sort_keys=True)


def read(path: Path) -> dict[str, Any]:
    """A result file; ends the command if it is none, or of a bench that the page does not show."""
    try:
        content = results.read(path)
    except DocumentError as error:
        raise typer.BadParameter(f"no result file of omni: {error}", param_hint="FILE") from error
    rows = content["results"]
    if not (benches := {row["bench"] for row in rows}) <= set(BENCHES):
        raise typer.BadParameter(
            f"{path} is of {', '.join(sorted(benches))}; the page shows {', '.join(BENCHES)}", param_hint="FILE"
        )
    if not any(row["status"] == "ok" for row in rows):
        raise typer.BadParameter(f"nothing was measured in {path}", param_hint="FILE")
    return content


def libraries(content: dict[str, Any]) -> dict[str, Any]:
    """What each library said of itself and how it was set, at the fewest threads."""
    found: dict[str, Any] = {}
    for name, how in content["command"]["libraries"].items():
        library = name.rpartition(", ")[0]
        settings = [f"{s['variable']}={how['environment'].get(s['variable'], '')}" for s in how["settings"]]
        own = {"details": how["details"], "settings": list(dict.fromkeys(settings)), "caveats": how.get("caveats", [])}
        found.setdefault(library, own)
    return found


def write_page(path: Path, sides: list[dict[str, Any]]) -> None:
    """Writes the page of one side or two."""
    web_page.write(
        path, "omni report", WEB / "comparison.html", {"version": __version__},
        data={"files": sides}, scripts=[WEB / name for name in SCRIPTS], styles=[WEB / "comparison.css"],
    )  # fmt: skip


def write_csv(path: Path, sides: list[dict[str, Any]]) -> None:
    """Writes all results, a row each."""
    latency = [f"latency_us_{name}" for name in LATENCY]
    interval = [f"interval_{name}" for name in INTERVAL]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["file", *PLAIN, *latency, *interval])
    for one in sides:
        writer.writerows([one["name"], *record(row)] for row in one["results"])
    files.write(path, text.getvalue())


def record(row: results.Result) -> list[Any]:
    """A result as the table has it; what is missing is empty."""
    plain = [row.get(name) for name in PLAIN]
    latency = [(row["latency_us"] or {}).get(name) for name in LATENCY]
    return plain + latency + [(row.get("interval") or {}).get(name) for name in INTERVAL]

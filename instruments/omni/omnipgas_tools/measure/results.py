# SPDX-License-Identifier: BSD-3-Clause
"""The result file: what was measured, on which machine, by which command. See result.schema.json."""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from omnipgas_tools import documents, files
from omnipgas_tools.libraries.catalog import RANKS, cores
from omnipgas_tools.measure import stats
from omnipgas_tools.measure.runner import Cell
from omnipgas_tools.measure.worker import Round

SCHEMA = "omnipgas-bench-1"
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")
# Of every row, in this order.
FIELDS = (
    "bench", "library", "version", "transport", "op", "ranks", "threads", "endpoints", "size", "latency_us",
    "bandwidth_MBps", "rate_Mps", "failed_claims", "memory_per_peer_KiB", "descriptors_per_peer", "status", "reason",
)  # fmt: skip

Result = dict[str, Any]
TOOL_LIMIT = 10  # seconds


def machine() -> dict[str, Any]:
    """What a reader must know of the machine; its load is the present one."""
    model = re.search("^model name.*?:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE | re.IGNORECASE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model[1].strip() if model else "unknown",
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_GiB": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "system": " ".join(platform.freedesktop_os_release().get(k, "") for k in ("NAME", "VERSION_ID")),
        "load": os.getloadavg()[0],
        "topology": topology(),
    }


def machine_text(of: dict[str, Any]) -> str:
    """What names a machine in a line."""
    units = (("cpu", ""), ("cores", " cores"), ("memory_GiB", " GiB"), ("system", ""))
    return ", ".join(f"{of[key]}{unit}" for key, unit in units)


def topology() -> str | None:
    """The machine as hwloc draws it, without its devices; nothing if hwloc's tools are not installed."""
    tool = shutil.which("lstopo-no-graphics")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "--of", "console", "--no-io"], capture_output=True, text=True, timeout=TOOL_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def skipped(bench: str, library: str, op: str, reason: str) -> Result:
    """The result of a library that could not be measured at all."""
    return empty(bench, library, op, None, None) | {"status": "skipped", "reason": reason}


def from_cell(cell: Cell) -> Result:
    """The result of one cell over all its rounds."""
    result = empty(cell.bench, cell.contender.library, cell.contender.op, cell.threads, cell.size)
    result |= {
        "version": cell.version or None,
        "transport": cell.transport or None,
        "endpoints": cell.endpoints,
        "status": cell.status,
        "reason": cell.reason or None,
    }
    if not cell.rounds:
        return result
    result["interval"] = cell.interval().to_json() | {"starts": len(cell.ends)}
    result["startup_s"] = cell.startup
    result["memory_MiB"] = cell.memory / 2**20 if cell.memory else None
    used = [r.cpu_us for r in cell.rounds if r.cpu_us is not None]
    result["cpu_us_per_message"] = statistics.median(used) if used else None
    counted = [r.failed_claims for r in cell.rounds if r.failed_claims is not None]
    result["failed_claims"] = statistics.median(counted) if counted else None
    if cell.bench != "pingpong":
        result["rate_Mps"] = statistics.median(r.rate for r in cell.rounds)
        if cell.bench == "flow":
            result["bandwidth_MBps"] = statistics.median(r.bandwidth for r in cell.rounds)
        return result
    return result | {
        "latency_us": latency(cell.rounds),
        "bandwidth_MBps": statistics.median(r.bandwidth for r in cell.rounds),
    }


def latency(rounds: list[Round]) -> dict[str, float]:
    """One-way latency: percentiles over all iterations, medians over rounds of the threads' means."""
    histogram: Counter[int] = Counter()
    for r in rounds:
        histogram.update(r.histogram)
    p50, p90, p99 = (ns / 2e3 for ns in stats.percentiles(histogram, [50, 90, 99]))
    count = sum(r.count for r in rounds)
    return {
        "p50": p50,
        "p90": p90,
        "p99": p99,
        "mean": sum(r.mean_us * r.count for r in rounds) / count,
        "min": min(r.min_us for r in rounds),
        "max": max(r.max_us for r in rounds),
        "count": count,
        "fastest_thread_mean": statistics.median(r.fastest_us for r in rounds),
        "slowest_thread_mean": statistics.median(r.slowest_us for r in rounds),
    }


def document(measured_on: dict[str, Any], command: dict[str, Any], results: list[Result]) -> dict[str, Any]:
    """The whole result file; `measured_on` is what machine() said before, `command` how it was measured."""
    return {
        "schema": SCHEMA,
        "machine": measured_on,
        "command": {"argv": sys.argv, **command},
        "results": results,
    }


def read(path: Path) -> dict[str, Any]:
    """A result file. Raises DocumentError."""
    return documents.read(path, SCHEMA_FILE)


def write(path: str, content: dict[str, Any]) -> None:
    """Writes a result file; "-" is standard output."""
    text = json.dumps(content, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        files.write(Path(path), text)


def empty(bench: str, library: str, op: str, threads: int | None, size: int | None) -> Result:
    """A row in which nothing is measured yet."""
    known = {"bench": bench, "library": library, "op": op, "ranks": RANKS, "threads": threads, "size": size}
    return dict.fromkeys(FIELDS) | known | {"status": "ok"}

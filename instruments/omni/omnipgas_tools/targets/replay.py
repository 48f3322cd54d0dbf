# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the replayer: the paper's numbers; seconds of a replay, reading apart, and memory."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import peers
from omnipgas_tools.targets.target import Target, interval, missing

BYTES = 1000
REPEATS = 5
LOGGOPSIM_MIB = 229.0  # for the same messages
LONGEST = 900  # seconds until a replay counts as hung


# Equations (4)-(14), tables and 298 us of the paper, to 1e-9; random messages against the slow replayer in Python.
EQUATIONS = ("loggps_equations_test", "loggps_sharing_test", "loggps_machines", "loggps_random")


def equations(build: Path) -> list[Target]:
    """The tests that compare with the paper and with another replayer."""
    name = "equations, tables and random messages: tests that pass"
    command = ["ctest", "--test-dir", str(build), "-R", f"^({'|'.join(EQUATIONS)})$"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    passed = len(re.findall(r" Passed ", done.stdout))
    return [Target(name, passed, len(EQUATIONS), False, note=", ".join(EQUATIONS))]


def replay(build: Path) -> list[Target]:
    """2 million messages of a ring in GOAL at P = 64 and 4096, by all cores too; a flood; 100 million messages."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="omni-replay-") as folder:
        for ranks, rounds, bound in ((64, 15625, 0.5), (4096, 245, 1.0)):
            schedule = Path(folder, f"ring{ranks}.goal")
            write_ring(schedule, ranks, rounds)
            name = f"replay of 2 million messages, P = {ranks}"
            figures += _measure(build, name, str(schedule), 2 * ranks * rounds, bound)
            figures.append(_several_threads(build, name, str(schedule)))
            schedule.unlink()
    figures += _measure(build, "replay of 100,000 unexpected messages", "flood:11:10000:100", 100000, 1.0)[:1]
    many = "100 million messages finish"
    try:
        result, memory = run(build, "ring:64:781250:1000")
        done = result["messages"] / 1e8
        note = f"{result['replay_seconds']:.0f} s, {memory:.0f} MiB"
        figures.append(Target(many, done, 1.0, at_most=False, note=note))
    except OSError as error:
        figures.append(missing(many, 1.0, False, str(error)))
    return figures


def write_ring(path: Path, ranks: int, rounds: int) -> None:
    """Each rank receives from both neighbours and sends to both, and goes on when all four are done."""
    with path.open("w") as out:
        out.write(f"num_ranks {ranks}\n")
        for rank in range(ranks):
            left, right = (rank - 1) % ranks, (rank + 1) % ranks
            out.write(f"rank {rank} {{\n")
            for i in range(rounds):
                ops = (f"recv {BYTES}b from {left} tag 0", f"recv {BYTES}b from {right} tag 1",
                       f"send {BYTES}b to {right} tag 0", f"send {BYTES}b to {left} tag 1")  # fmt: skip
                labels = [f"{letter}{i}" for letter in "abcd"]
                lines = [f"{label}: {op}\n" for label, op in zip(labels, ops, strict=True)]
                lines += [f"{label} requires e{i - 1}\n" for label in labels if i > 0]
                lines += [f"e{i}: calc 0\n", *(f"e{i} requires {label}\n" for label in labels)]
                out.write("".join(lines))
            out.write("}\n")


def run(build: Path, source: str, *options: str) -> tuple[dict[str, Any], float]:
    """A prediction, and the most memory that its process took, in MiB. OSError if it fails."""
    model = str(build / "bin" / "ompl-model")
    command = [model, "predict", source, "--params", "myrinet", "--no-sensitivity", *options]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        limited = ["timeout", str(LONGEST), *command, "--json", out.name]
        child = os.posix_spawnp("timeout", limited, os.environ)
        _, status, usage = os.wait4(child, 0)
        if status != 0:
            raise OSError(f"ompl-model ended with status {os.waitstatus_to_exitcode(status)}")
        result: dict[str, Any] = json.load(out)
    return result, usage.ru_maxrss / 1024


def _measure(build: Path, name: str, source: str, messages: int, bound: float) -> list[Target]:
    """Seconds of the replay, and memory."""
    try:
        runs = [run(build, source) for _ in range(REPEATS)]
    except OSError as error:
        return [missing(name, bound, True, str(error))]
    if any(result["messages"] != messages for result, _ in runs):
        return [missing(name, bound, True, "not all messages were replayed")]
    seconds = [result["replay_seconds"] for result, _ in runs]
    read = statistics.median(result["read_seconds"] for result, _ in runs)
    memory = max(memory for _, memory in runs)
    note = f"fastest {min(seconds):.3f}, reading {read:.2f}"
    return [
        Target(name, statistics.median(seconds), bound, True, unit="s", note=note),
        Target(f"{name}, memory", memory, LOGGOPSIM_MIB, True, unit="MiB"),
    ]


def _several_threads(build: Path, name: str, source: str) -> Target:
    """Seconds by a thread on each core, of those by one thread; in turn."""
    cores = peers.cores()
    name += ", by all cores, of one thread's time"
    if cores == 1:
        return missing(name, None, True, "there is one core")
    seconds: dict[int, list[float]] = {1: [], cores: []}
    try:
        for _ in range(REPEATS):
            for threads, times in seconds.items():
                times.append(run(build, source, f"--threads={threads}")[0]["replay_seconds"])
    except OSError as error:
        return missing(name, None, True, str(error))
    found = interval(name, seconds[cores], seconds[1], None, True)
    return replace(found, note=f"{cores} cores; one thread {statistics.median(seconds[1]):.3f} s")

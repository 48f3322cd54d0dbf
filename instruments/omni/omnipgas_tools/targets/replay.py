# SPDX-License-Identifier: BSD-3-Clause
"""Targets of the replayer: the paper's numbers; seconds of a replay, reading apart, and memory."""

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from omnipgas_tools.libraries import catalog
from omnipgas_tools.targets.measurement import Bench, Measurement, NotMeasuredError, in_turn
from omnipgas_tools.targets.target import Target, at_least, at_most

BYTES = 1000
REPEATS = 5
LOGGOPSIM_MIB = 229.0  # for the same messages
LONGEST = 900  # seconds until a replay counts as hung


# Equations (4)-(14), tables and 298 us of the paper, to 1e-9; random messages against the slow replayer in Python.
EQUATIONS = ("loggps_equations_test", "loggps_sharing_test", "loggps_machines", "loggps_random")


def equations(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """The tests that compare with the paper and with another replayer."""
    command = ["ctest", "--test-dir", str(bench.build), "-R", f"^({'|'.join(EQUATIONS)})$"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    yield targets[0].found(len(re.findall(r" Passed ", done.stdout)), ", ".join(EQUATIONS))


def measurements() -> Iterator[Measurement]:
    """2 million messages of a ring in GOAL at P = 64 and 4096, by all cores too; a flood; 100 million messages."""
    for ranks, rounds, bound in ((64, 15625, 0.5), (4096, 245, 1.0)):
        name = f"replay of 2 million messages, P = {ranks}"
        yield Measurement(
            partial(ring, ranks, rounds),
            at_most(name, bound, "s"),
            at_most(f"{name}, memory", LOGGOPSIM_MIB, "MiB"),
            at_most(f"{name}, by all cores, of one thread's time", None),
        )
    yield Measurement(flood, at_most("replay of 100,000 unexpected messages", 1.0, "s"))
    yield Measurement(many, at_least("100 million messages finish", 1.0))


def ring(ranks: int, rounds: int, bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Seconds of a replay, memory, and what all cores save."""
    whole, memory, by_all = targets
    with tempfile.TemporaryDirectory(prefix="omni-replay-") as folder:
        schedule = Path(folder, f"ring{ranks}.goal")
        write_ring(schedule, ranks, rounds)
        most = yield from _seconds(bench.build, whole, str(schedule), 2 * ranks * rounds)
        yield memory.found(most)
        yield _several_threads(bench.build, by_all, str(schedule))


def flood(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Messages that nothing expects."""
    yield from _seconds(bench.build, targets[0], "flood:11:10000:100", 100000)


def many(bench: Bench, targets: Sequence[Target]) -> Iterator[Target]:
    """Far more messages than fit into memory at once."""
    result, memory = run(bench.build, "ring:64:781250:1000")
    yield targets[0].found(result["messages"] / 1e8, f"{result['replay_seconds']:.0f} s, {memory:.0f} MiB")


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
        result: dict[str, Any] = json.loads(Path(out.name).read_text())
    return result, usage.ru_maxrss / 1024


def _seconds(build: Path, target: Target, source: str, messages: int) -> Generator[Target, None, float]:
    """Seconds of the replay; returns the memory."""
    runs = [run(build, source) for _ in range(REPEATS)]
    if any(result["messages"] != messages for result, _ in runs):
        raise NotMeasuredError("not all messages were replayed")
    seconds = [result["replay_seconds"] for result, _ in runs]
    read = statistics.median(result["read_seconds"] for result, _ in runs)
    yield target.found(statistics.median(seconds), f"fastest {min(seconds):.3f}, reading {read:.2f}")
    return max(memory for _, memory in runs)


def _several_threads(build: Path, target: Target, source: str) -> Target:
    """Seconds by a thread on each core, of those by one thread."""
    cores = catalog.cores()
    if cores == 1:
        raise NotMeasuredError("there is one core")

    def seconds(threads: int) -> float:
        return float(run(build, source, f"--threads={threads}")[0]["replay_seconds"])

    took = in_turn(REPEATS, {"one": lambda: seconds(1), "all": lambda: seconds(cores)})
    return replace(
        target.ratio(took["all"], took["one"]),
        note=f"{cores} cores; one thread {statistics.median(took['one']):.3f} s",
    )

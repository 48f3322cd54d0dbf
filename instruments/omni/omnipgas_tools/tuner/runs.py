# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs that time collectives for the tuner (bench/tuner) and replay recorded calls through the library's
own decisions (tools/tuner-replay): what each algorithm takes at each call, what the tuner would have made of that, and
the tuner's calls beside those of each algorithm."""

import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnipgas_tools.measure import stats
from omnipgas_tools.measure.stats import Interval

CALLS = 1000  # of a run
TUNED = "tuned"  # the series that is no algorithm
LIMIT = 300.0  # seconds of one job


class RunError(Exception):
    """Why there are no times."""


@dataclass(frozen=True, order=True)
class Kind:
    """Blocking calls on one node."""

    collective: str
    bytes: int
    ranks: int

    def __str__(self) -> str:
        return f"{self.collective} of {self.bytes} B, {self.ranks} ranks"


@dataclass(frozen=True)
class Replayed:
    """What the tuner would have made of a recording."""

    kind: Kind
    calls: int
    short_list: list[str]
    takes: str  # in the end
    steady_of_best: float  # time of the last calls, over that of the algorithm that takes the least for them
    regret: float  # part of the whole time above that of the algorithm that takes the least for all calls


@dataclass(frozen=True)
class Live:
    """Microseconds per call by series and round."""

    kind: Kind
    microseconds: dict[str, list[float]]

    @property
    def best(self) -> str:
        """The algorithm of the least median."""
        fixed = {name: statistics.median(times) for name, times in self.microseconds.items() if name != TUNED}
        return min(fixed, key=lambda name: fixed[name])

    def ratio(self) -> Interval:
        """The tuner's time over the best algorithm's; ValueError: too few rounds."""
        return stats.paired_ratio(self.microseconds[TUNED], self.microseconds[self.best])


def steady(calls: int) -> int:
    """Of so many calls the last that count as the steady state."""
    return max(1, calls * 2 // 5)


def record(build: Path, kind: Kind, calls: int = CALLS) -> dict[str, Any]:
    """One recording, as replay() takes it: the kind, and `microseconds` by algorithm and call. Raises RunError."""
    return _measure(build, kind, {"OMPL_TUNER": "0"}, "record", kind.collective, str(kind.bytes), str(calls))


def live(build: Path, kind: Kind, calls: int, rounds: int) -> Live:
    """Blocks of so many calls, each series' in turn, after ten for the tuner to settle. Raises RunError."""
    settings = {"OMPL_TUNER": "1", "OMPL_TUNER_TABLE": "none", "OMPL_TUNER_EXPLAIN": "0"}
    words = ["live", kind.collective, str(kind.bytes), str(calls), str(rounds)]
    return Live(kind, _measure(build, kind, settings, *words)["microseconds"])


def replay(build: Path, recordings: Sequence[dict[str, Any]]) -> list[Replayed]:
    """What comes of each recording. Raises RunError."""
    if not recordings:
        return []
    calls = min(len(times) for one in recordings for times in one["microseconds"].values())
    found = _run([str(build / "bin/ompl_tuner_replay"), str(steady(calls))], {}, json.dumps(list(recordings)))
    return [
        Replayed(Kind(row.pop("collective"), row.pop("bytes"), row.pop("ranks")), **row) for row in json.loads(found)
    ]


def _measure(build: Path, kind: Kind, settings: dict[str, str], *words: str) -> dict[str, Any]:
    start = [str(build / "bin/omplrun"), "--no-prefix", "-n", str(kind.ranks)]
    found: dict[str, Any] = json.loads(_run([*start, str(build / "bin/ompl_tuner_measure"), *words], settings))
    return found


def _run(command: list[str], settings: dict[str, str], given: str = "") -> str:
    try:
        done = subprocess.run(
            command, env={**os.environ, **settings}, input=given, capture_output=True, text=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise RunError(f"{command[0]}: {error.strerror}; build it: ninja -C build") from error
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{' '.join(command)}: no end after {LIMIT:g} s") from error
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)}: {done.stderr.strip()[-300:] or f'status {done.returncode}'}")
    return done.stdout

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tuner in jobs of processes: tuner_job.py BUILD_DIR. What it says, what it keeps for later jobs, and what becomes
of a damaged table."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() / "bin"
LIMIT_S = 240.0
CALLS = 600  # in far fewer the tuner has settled
KIND = "tuner: allreduce of 64 to 79 bytes, 2 members"
ALGORITHMS = {"recursive-doubling", "rabenseifner", "ring", "direct"}
FIRST_RANK_TUNES = 'OMPL_TUNER=$((1 - PMI_RANK)) exec "$0" "$@"'


class Tuner(unittest.TestCase):
    def setUp(self) -> None:
        self.cache = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.cache)
        self.table = self.cache / "omnipgas/tuner" / f"{socket.gethostname()}.json"

    def job(
        self, *before: str, calls: int = CALLS, more: tuple[str, ...] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Two ranks through shared memory, tuned and explained unless the environment says otherwise."""
        own = {"OMPL_TUNER": "1", "OMPL_TUNER_EXPLAIN": "1", "XDG_CACHE_HOME": str(self.cache)}
        return subprocess.run(
            [str(BIN / "omplrun"), "-n", "2", *before, str(BIN / "tests/tuner_job"), str(calls), *more],
            env={**os.environ, **own, **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def lines(self, job: subprocess.CompletedProcess[str], kind: str = f"{KIND}: ") -> list[str]:
        """What the tuner has said of the job's calls."""
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        return [line.partition(kind)[2] for line in job.stderr.splitlines() if kind in line]

    def test_decisions_are_explained_once_and_kept(self) -> None:
        first = self.lines(self.job())
        self.assertTrue(first[0].startswith("tries recursive-doubling ("), first)
        self.assertTrue(first[1].startswith("takes "), first)
        for name in ALGORITHMS:
            self.assertIn(name, first[1])
        self.assertLess(len(first), CALLS / 10, "it speaks of decisions, not of calls")
        table = json.loads(self.table.read_text())
        self.assertEqual((table["format"], table["version"]), ("omnipgas tuner table", 2))
        (entry,) = table["entries"]
        self.assertEqual((entry["collective"], entry["members"], entry["bytes"]), ("allreduce", 2, 64))
        self.assertLessEqual(set(entry["microseconds"]), ALGORITHMS)
        self.assertGreater(len(entry["microseconds"]), 0)  # on a busy machine a slow look may be the last
        self.assertTrue(all(time > 0 for time in entry["microseconds"].values()))
        self.assertEqual(os.listdir(self.table.parent), [self.table.name])
        best = min(entry["microseconds"], key=entry["microseconds"].get)
        again = self.lines(self.job(calls=1))
        self.assertEqual(len(again), 1, again)
        self.assertTrue(again[0].startswith(f"begins with {best}, "), again)
        self.assertIn("by the table", again[0])

    def test_modes_of_progress_are_explained_and_kept(self) -> None:
        first = self.lines(self.job(more=("request",), OMPL_COLL_PROGRESS="auto"), f"{KIND}, nonblocking: ")
        self.assertIn("each with progress none, idle, from the start to the end of the wait", first[0])
        self.assertRegex(first[1], r"^takes [a-z-]+/(none|idle), ")
        (entry,) = json.loads(self.table.read_text())["entries"]
        self.assertTrue(entry["modes"])
        self.assertLessEqual(
            set(entry["microseconds"]), {f"{a}/{mode}" for a in ALGORITHMS for mode in ("none", "idle")}
        )
        again = self.lines(self.job(calls=1, more=("request",), OMPL_COLL_PROGRESS="auto"), f"{KIND}, nonblocking: ")
        self.assertIn("by the table", again[0])
        waits = self.lines(self.job(calls=1, OMPL_COLL_PROGRESS="auto"))
        self.assertTrue(waits[0].startswith("tries "), "calls that wait are of another kind")

    def test_off_it_says_and_keeps_nothing(self) -> None:
        off = self.job(OMPL_TUNER="0")
        self.assertEqual(self.lines(off), [])
        self.assertEqual(off.stderr.count("tuner: it is off"), 1, off.stderr)
        self.assertEqual(list(self.cache.iterdir()), [])
        self.assertEqual(self.lines(self.job(OMPL_TUNER_EXPLAIN="0", OMPL_TUNER_TABLE="none")), [])
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_a_damaged_table_is_named_and_kept(self) -> None:
        self.table.parent.mkdir(parents=True)
        self.table.write_text("{ damaged")
        job = self.job()
        self.assertTrue(self.lines(job)[0].startswith("tries "), job.stderr)
        self.assertEqual(job.stderr.count(f"the tuner's table {self.table} is not used: "), 1, job.stderr)
        self.assertEqual(self.table.with_name(self.table.name + ".old").read_text(), "{ damaged")
        self.assertEqual(len(json.loads(self.table.read_text())["entries"]), 1)

    def test_ranks_that_differ_are_told(self) -> None:
        job = self.job("sh", "-c", FIRST_RANK_TUNES, calls=1)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("differ in OMPL_COLL_CHECK, OMPL_TUNER", job.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

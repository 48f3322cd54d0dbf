#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a process that uses the library (docs/rules.md), each in whole jobs over shared memory and over a
network: rules.py BUILD_DIR. The network is libfabric over TCP on this host."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

LIMIT_S = 250.0
BUILD = Path()
NETWORK = {"OMPL_CONDUITS": "self,ofi", "OMPL_ENDPOINTS": "2"}


def job(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a job of two ranks to its end."""
    return subprocess.run(
        [str(BUILD / "bin/omplrun"), "-n", "2", "--timeout", "240", *command],
        env={**os.environ, "OMPL_SEGMENT_SIZE": "64M", **environment},
        text=True,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


def worker(rule: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return job(str(BUILD / "bin/tests/rules_worker"), rule, **environment)


def conduits() -> dict[str, dict[str, str]]:
    """What the rules are shown over."""
    listed = subprocess.run(
        [str(BUILD / "bin/ompl-info")], text=True, capture_output=True, timeout=LIMIT_S, check=True
    ).stdout
    networks = [name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed, re.MULTILINE)]
    return {"shm": {}} | {name: NETWORK | {"OMPL_CONDUITS": f"self,{name}"} for name in networks}


class Rules(unittest.TestCase):
    def holds(self, rule: str, **environment: str) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name):
                done = worker(rule, **over, **environment)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_fork_of_a_rank_is_told_so(self) -> None:
        self.holds("fork", OMPL_LOG="off")

    def test_threads_come_and_go(self) -> None:
        self.holds("thread-exit")

    def test_the_library_may_be_used_at_the_end_of_a_thread(self) -> None:
        self.holds("late-thread")

    def test_signals_interrupt_nothing(self) -> None:
        self.holds("signals")

    def test_signals_do_not_interrupt_the_start(self) -> None:
        done = worker("start")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_memory_of_a_gpu_is_refused(self) -> None:
        folder = str(BUILD / "tests/process/fake_gpu")
        for library in ("libcuda.so.1", "libamdhip64.so.6"):
            with self.subTest(library=library):
                self.holds("gpu", OMPL_LOG="off", LD_LIBRARY_PATH=folder, RULES_GPU_LIBRARY=library)

    def test_a_death_is_noticed_without_pidfd_open(self) -> None:
        rank = str(BUILD / "bin/tests/rules_worker")
        done = job("--keep-going", rank, "no-pidfd")
        self.assertIn("noticed", done.stdout, done.stderr)
        self.assertRegex(done.stderr, "warning: shm: the system call pidfd_open")

    def test_a_segment_without_room_is_an_error(self) -> None:
        for size in ("1", "4096", "8192"):
            done = worker("logging", OMPL_SEGMENT_SIZE=size)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"OMPL_SEGMENT_SIZE={size} leaves no room", done.stderr)

    def test_abort_is_never_a_success(self) -> None:
        for code in ("0", "256", "-1"):
            done = worker("abort", RULES_ABORT_CODE=code)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"ompl_abort: {code} is no exit code", done.stderr)

    def test_abort_ends_the_job_with_its_code(self) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name):
                done = worker("abort", **over)
                self.assertEqual(done.returncode, 42, done.stderr)
                self.assertIn("as the rule says", done.stderr)

    def test_the_library_can_be_loaded_by_name(self) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name):
                library = str(BUILD / "lib/libomnipgas.so")
                # Where UCX unloads its modules LeakSanitizer itself crashed, in 1 of 17 runs.
                leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if name == "ucx" else {}
                done = job(str(BUILD / "bin/tests/dlopen_worker"), library, **over, **leaks)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count("played"), 2, done.stdout)

    def test_each_log_level_adds_to_the_one_before(self) -> None:
        seen: dict[str, set[str]] = {}
        for level in ("off", "error", "warn", "info", "debug"):
            text = worker("logging", OMPL_LOG=level, OMPL_SEGMENTSIZE="1").stderr
            seen[level] = set(re.findall(r"ompl(?:\[\d\])? (\w+): ", text))
        self.assertEqual(
            seen,
            {
                "off": set(),
                "error": {"error"},
                "warn": {"error", "warning"},
                "info": {"error", "warning", "info"},
                "debug": {"error", "warning", "info", "debug"},
            },
        )


class Threads(unittest.TestCase):
    """What thread_worker shows; with one endpoint what another thread holds for ever ends the job."""

    def holds(self, rule: str, **environment: str) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name):
                rank = str(BUILD / "bin/tests/thread_worker")
                done = job(rank, rule, **{**over, "OMPL_LOG": "off", "OMPL_ENDPOINTS": "1"}, **environment)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_thread_local_objects_use_the_library_last(self) -> None:
        self.holds("late")

    def test_thread_specific_data_use_the_library_later(self) -> None:
        self.holds("late-data")

    def test_a_waiting_thread_may_be_cancelled(self) -> None:
        self.holds("cancel")

    def test_a_hook_or_a_callback_may_end_its_thread(self) -> None:
        self.holds("exit")

    def test_exceptions_become_codes(self) -> None:
        self.holds("throw")

    def test_without_memory_calls_say_so_to_all(self) -> None:
        self.holds("memory")
        alone = subprocess.run(
            [str(BUILD / "bin/tests/thread_worker"), "memory"],
            env={**os.environ, "OMPL_SEGMENT_SIZE": "64M", "OMPL_LOG": "off"},
            text=True,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        self.assertEqual(alone.returncode, 0, alone.stderr)


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], "-v"])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a process that uses the library (docs/reference/rules.md), each in whole jobs over shared memory and
over a network: rules.py BUILD_DIR. The network is libfabric over TCP on this host."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 250.0
BUILD = Path()
NETWORK = {"OMPL_CONDUITS": "self,ofi", "OMPL_ENDPOINTS": "2"}


def job_of(ranks: int, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a job to its end."""
    return subprocess.run(
        [str(BUILD / "bin/omplrun"), "-n", str(ranks), "--timeout", "240", *command],
        env={**os.environ, "OMPL_SEGMENT_SIZE": "64M", **environment},
        text=True,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


def job(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Of two ranks."""
    return job_of(2, *command, **environment)


def worker(rule: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return job(str(BUILD / "bin/tests/rules_worker"), rule, **environment)


def conduits() -> dict[str, dict[str, str]]:
    """What the rules are shown over."""
    listed = subprocess.run(
        [str(BUILD / "bin/ompl-info")], text=True, capture_output=True, timeout=LIMIT_S, check=True
    ).stdout
    networks = ["tcp", *(name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed, re.MULTILINE))]
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

    def test_ranks_that_have_stopped_end_well_after_collectives(self) -> None:
        self.holds("stop")

    def test_signals_interrupt_nothing(self) -> None:
        self.holds("signals")

    def test_signals_do_not_interrupt_the_start(self) -> None:
        done = worker("start")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_memory_of_a_gpu_is_refused(self) -> None:
        folder = str(BUILD / "tests/process/fake_gpu")
        for library, told in (("libcuda.so.1", {"OMPL_GPU": "refuse"}), ("libamdhip64.so.6", {})):
            with self.subTest(library=library):
                self.holds("gpu", OMPL_LOG="off", LD_LIBRARY_PATH=folder, RULES_GPU_LIBRARY=library, **told)

    def test_a_death_is_noticed_without_pidfd_open(self) -> None:
        rank = str(BUILD / "bin/tests/rules_worker")
        done = job("--keep-going", rank, "no-pidfd")
        self.assertIn("noticed", done.stdout, done.stderr)
        self.assertRegex(done.stderr, "warning: shm: the system call pidfd_open")

    def test_a_rank_that_dies_slowly_is_dead_and_not_out_of_reach(self) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name):
                done = job_of(3, "--keep-going", str(BUILD / "bin/tests/rules_worker"), "dying", **over)
                self.assertEqual(done.stdout.count("noticed"), 2, done.stderr)

    def test_closed_descriptors_are_no_deaths(self) -> None:
        done = job("--keep-going", str(BUILD / "bin/tests/rules_worker"), "closed")
        self.assertEqual(done.stdout.count("alive"), 2, done.stderr)

    def test_calls_return_when_descriptors_of_the_network_were_closed(self) -> None:
        if "ofi" not in conduits():
            self.skipTest("no libfabric")
        for provider in ("tcp", "tcp;ofi_rxm"):
            for kind in ("all", "connections", "sets"):
                for closers in ({}, {"RULES_CLOSERS": "all"}):
                    with self.subTest(provider=provider, kind=kind, **closers):
                        told = NETWORK | {"OMPL_OFI_PROVIDER": provider, "RULES_CLOSED": kind} | closers
                        done = job("--keep-going", str(BUILD / "bin/tests/rules_worker"), "closed-network", **told)
                        self.assertEqual(done.stdout.count("returned with an error"), 2, done.stderr)

    def test_calls_return_when_one_descriptor_was_closed(self) -> None:
        """Whichever it is. Some are not missed; libfabric may die by SIGPIPE of its own, which is no hang."""
        if "ofi" not in conduits():
            self.skipTest("no libfabric")
        for descriptor in range(3, 22):
            with self.subTest(descriptor=descriptor):
                told = NETWORK | {"OMPL_ENDPOINTS": "1", "RULES_CLOSED": str(descriptor)}
                done = job("--keep-going", str(BUILD / "bin/tests/rules_worker"), "closed-network", **told)
                self.assertNotIn("did not end within", done.stderr)
                self.assertIn("returned", done.stdout, done.stderr)

    def limited(self, ranks: int, limit: str, rule: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A rule in a shell with that limit."""
        rank = str(BUILD / "bin/tests/rules_worker")
        return job_of(ranks, "sh", "-c", f"ulimit {limit} && exec {rank} {rule}", **environment)

    def test_ranks_take_a_descriptor_for_each_other_and_two_with_a_network(self) -> None:
        for limit in ("-n 60", "-Sn 40"):
            with self.subTest(limit=limit):
                done = self.limited(40, limit, "node")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_ranks_of_a_node_keep_their_segments_in_few_files(self) -> None:
        for ranks, expected in ((2, 1), (16, 1), (33, 3)):
            with self.subTest(ranks=ranks):
                done = job_of(ranks, str(BUILD / "bin/tests/rules_worker"), "files", RULES_FILES=str(expected))
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_segments_in_files_lie_at_different_places(self) -> None:
        done = job_of(40, str(BUILD / "bin/tests/rules_worker"), "places", OMPL_CONDUITS="self,shm")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_ranks_without_those_files_share_memory_with_all_others(self) -> None:
        done = job_of(20, str(BUILD / "bin/tests/rules_worker"), "mixed", OMPL_CONDUITS="self,shm")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_death_among_many_ranks_is_noticed_by_all(self) -> None:
        done = job_of(70, "--keep-going", str(BUILD / "bin/tests/rules_worker"), "last-dies")
        self.assertEqual(done.stdout.count("noticed"), 69, done.stderr)

    def test_a_segment_beyond_the_limit_of_files_is_an_error(self) -> None:
        done = self.limited(1, "-f 100", "node")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("raise the limit on the size of files (ulimit -f)", done.stderr)

    def test_ranks_in_user_namespaces_share_memory(self) -> None:
        enter = ["unshare", "--user", "--map-root-user"]
        if subprocess.run([*enter, "true"], timeout=LIMIT_S, check=False).returncode != 0:
            self.skipTest("no user namespaces may be made here")
        rank = str(BUILD / "bin/tests/rules_worker")
        for which in ("true", "[ $PMI_RANK = 1 ]"):  # all, or one
            with self.subTest(which=which):
                script = f"{which} && exec {' '.join(enter)} {rank} node; exec {rank} node"
                done = job_of(3, "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_ranks_of_a_node_that_use_a_network_are_told(self) -> None:
        if "ofi" not in conduits():
            self.skipTest("no network is built in")
        rank = str(BUILD / "bin/tests/rules_worker")
        script = f"[ $PMI_RANK = 1 ] && ulimit -v 3000000; exec {rank} logging"
        done = job("sh", "-c", script, OMPL_SEGMENT_SIZE="1500M", OMPL_ENDPOINTS="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("shm: rank 0 is on this node, but cannot map its segment", done.stderr)
        self.assertIn("use a network instead", done.stderr)

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

    def test_one_rank_ends_the_job_in_order(self) -> None:
        for name, over in conduits().items():
            for status in (0, 7):
                with self.subTest(conduit=name, status=status):
                    done = worker("job-exit", RULES_STATUS=str(status), **over)
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertNotIn("went on", done.stderr)
                    if status == 0:
                        self.assertNotIn("abort", done.stderr)

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

    def test_a_task_may_move_to_another_thread_in_the_hook(self) -> None:
        for name, over in conduits().items():
            with self.subTest(conduit=name), tempfile.NamedTemporaryFile() as board:
                board.truncate(4096)
                # Every call that does not end at its first look enters the hook.
                settings = {"OMPL_SPIN": "0", "OMPL_YIELDS": "100", "OMPL_STATISTICS": "1", "OMPL_SEGMENT_SIZE": "128M"}
                done = job(str(BUILD / "bin/tests/moving_worker"), board.name, **{**over, **settings})
                if done.returncode == 77:
                    self.skipTest("sanitizers do not follow stacks from thread to thread")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_exceptions_become_codes(self) -> None:
        self.holds("throw")

    def test_additions_compiled_in_and_called_are_atomic_together(self) -> None:
        self.holds("additions")

    def test_fences_compiled_in_and_called_keep_puts_in_order(self) -> None:
        self.holds("fences")

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

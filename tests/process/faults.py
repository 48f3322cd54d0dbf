#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of whole jobs: faults.py BUILD_DIR [--kills N]. Real launchers, real signals, real other users."""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

PEER_DIED = 3  # exit code of fault_worker
JOB_LIMIT_S = 240.0  # for omplrun --timeout
LIMIT_S = JOB_LIMIT_S + 10  # of any one job
NOBODY = 65534
SOMEBODY_ELSE = 65533


class Options:
    build = Path()
    kills = 15


def worker() -> str:
    return str(Options.build / "bin/tests/fault_worker")


def omplrun(*arguments: str) -> list[str]:
    return [str(Options.build / "bin/omplrun"), *arguments]


def run(
    command: list[str], user: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a job to its end, with a time limit."""
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd="/",
        text=True,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


def run_tests(*arguments: str) -> NoReturn:
    """Those of the program, as unittest is told; ends it, with 77 if some were skipped."""
    program = unittest.main(argv=[sys.argv[0], "-v", *arguments], exit=False)
    for test, reason in program.result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(1 if not program.result.wasSuccessful() else 77 if program.result.skipped else 0)


def processes_marked(mark: str) -> list[int]:
    """The processes whose environment carries the mark (zombies have none)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def workers_of(mark: str) -> list[int]:
    """The ranks of a job, without its launcher."""
    ranks = []
    for pid in processes_marked(mark):
        try:
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "fault_worker":
                ranks.append(pid)
        except OSError:
            continue
    return ranks


def wait_for(condition: Callable[[], list[int]], what: str) -> list[int]:
    """Polls until the condition holds and returns its value."""
    end = time.monotonic() + LIMIT_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} took more than {LIMIT_S} s")
        time.sleep(0.005)
    return value


def names_of(pids: list[int]) -> list[str]:
    """The shared memory that carries the number of one of these processes in its name."""
    numbers = set(map(str, pids))
    return [name for name in os.listdir("/dev/shm") if numbers & set(re.findall(r"\d+", name))]


class Blocked:
    """A job whose ranks block for ever, and what its standard error has said so far."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.job = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.job.stderr is not None
        for line in self.job.stderr:
            self.said += line

    def pids(self, ranks: int) -> list[int]:
        assert self.job.stdout is not None
        return [int(re.findall(r"pid (\d+)", self.job.stdout.readline())[0]) for _ in range(ranks)]

    def says(self, pattern: str, meanwhile: Callable[[], None] = lambda: None) -> re.Match[str]:
        """Waits until the job has said it; does something meanwhile."""
        end = time.monotonic() + LIMIT_S
        while not (found := re.search(pattern, self.said)):
            if time.monotonic() > end or self.job.poll() is not None:
                raise AssertionError(f"not said: {pattern}\n{self.said}")
            meanwhile()
            time.sleep(0.05)
        return found

    def __enter__(self) -> "Blocked":
        return self

    def __exit__(self, *_: object) -> None:
        self.job.terminate()
        self.job.wait(LIMIT_S)
        self.reader.join()
        assert self.job.stdout is not None and self.job.stderr is not None
        self.job.stdout.close()
        self.job.stderr.close()


class Death(unittest.TestCase):
    def test_kill_at_a_random_moment_leaves_nothing(self) -> None:
        chance = random.Random(20190305)
        for trial in range(Options.kills):
            mark = f"OMPL_FAULT_TEST=kill-{os.getpid()}-{trial}"
            name, value = mark.split("=")
            with subprocess.Popen(
                omplrun("-n", "3", worker(), "churn"),
                env={**os.environ, name: value},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as job:
                wait_for(partial(workers_of, mark), "starting the ranks")
                time.sleep(chance.uniform(0, 0.25))
                ranks = workers_of(mark)
                victim = chance.choice(ranks)
                os.kill(victim, signal.SIGKILL)
                _, errors = job.communicate(timeout=LIMIT_S)
            self.assertEqual(job.returncode, 128 + signal.SIGKILL, errors)
            self.assertRegex(errors, r"rank \d.*(SIGKILL|Killed|signal 9)", "the launcher must say who and why")
            self.assertEqual(processes_marked(mark), [], "a process stayed behind")
            self.assertEqual(names_of([job.pid, *ranks]), [], "a segment stayed behind")

    def test_omplrun_removes_the_names_of_libfabrics_shared_memory(self) -> None:
        rank = 'echo "pid $$"; exec "$0" "$@"'
        command = omplrun("-n", "2", "sh", "-c", rank, worker(), "die-during", "wait")
        job = run(command, OMPL_CONDUITS="self,ofi", OMPL_OFI_PROVIDER="shm", OMPL_LOG="info")
        if "conduit ofi of OMPL_CONDUITS is not in this build" in job.stderr:
            self.skipTest("libfabric is not in this build")
        self.assertEqual(job.stderr.count("network: ofi"), 2, job.stderr)
        self.assertEqual(job.returncode, 128 + signal.SIGKILL, job.stderr)
        pids = [int(pid) for pid in re.findall(r"pid (\d+)", job.stdout)]
        self.assertEqual(len(pids), 2, job.stdout)
        self.assertEqual(names_of(pids), [])

    def test_every_blocking_call_of_a_survivor_returns_the_peer_error(self) -> None:
        for call in ("wait", "short-waits", "polls", "barrier", "alloc", "finalize"):
            with self.subTest(call=call):
                job = run(omplrun("--keep-going", "-n", "3", worker(), "die-during", call))
                self.assertEqual(job.stderr.count("OMPL_ERR_PEER"), 2, job.stderr)
                self.assertNotIn("returned although", job.stderr)

    def test_finalize_returns_also_where_failures_are_ignored(self) -> None:
        for conduits in ("self,shm", "self,tcp", "self,ofi"):
            with self.subTest(conduits=conduits):
                job = run(
                    omplrun("--keep-going", "-n", "3", worker(), "die-during", "finalize"),
                    OMPL_CONDUITS=conduits,
                    OMPL_ON_PEER_DEATH="ignore",
                )
                if "conduit ofi of OMPL_CONDUITS is not in this build" in job.stderr:
                    continue
                self.assertEqual(job.stderr.count("OMPL_ERR_PEER"), 2, job.stderr)

    def test_who_left_finalize_with_an_error_is_dead_to_all(self) -> None:
        for turn in range(8):
            job = run(
                omplrun("--keep-going", "-n", "4", worker(), "leave-one-by-one"),
                OMPL_CONDUITS="self,tcp" if turn % 2 else "self,ofi",
            )
            if "conduit ofi of OMPL_CONDUITS is not in this build" in job.stderr:
                continue
            self.assertEqual(job.stderr.count("OMPL_ERR_PEER"), 3, job.stderr)
            self.assertNotIn("OMPL_ERR_LINK", job.stderr)
            self.assertNotRegex(job.stderr, r"error: .*it left the job")

    def test_an_unknown_conduit_is_an_error_and_one_of_another_build_a_warning(self) -> None:
        job = run([worker(), "hello"], OMPL_CONDUITS="self,pigeon")
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertIn("self|shm|verbs", job.stderr)
        missing = re.findall(r"conduit (\w+) of", run([worker(), "hello"], OMPL_CONDUITS="self,mpi,ucx,utofu").stderr)
        listed = run([str(Options.build / "bin/ompl-info")]).stdout
        for name in ("ucx", "utofu"):
            self.assertEqual(name in missing, f"  {name} " not in listed, listed)

    def test_survivors_go_on_after_acknowledging_a_death(self) -> None:
        job = run(omplrun("--keep-going", "-n", "3", worker(), "survive"))
        self.assertEqual(job.stdout.count("survived"), 2, job.stdout + job.stderr)


class Isolation(unittest.TestCase):
    def test_two_jobs_at_once(self) -> None:
        with tempfile.TemporaryFile("w+") as output:
            jobs = [
                subprocess.Popen(omplrun("-n", "3", worker(), "hello"), stdout=output, stderr=output)
                for _ in range(4)
            ]
            codes = [job.wait(timeout=LIMIT_S) for job in jobs]
            output.seek(0)
            text = output.read()
        self.assertEqual(codes, [0, 0, 0, 0], text)
        self.assertEqual(len(re.findall(r"hello from \d of 3, 3 on this node", text)), 12, text)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_job_of_a_user_without_privileges(self) -> None:
        job = run(omplrun("-n", "2", worker(), "hello"), user=NOBODY)
        if "Permission denied" in job.stderr and "fault_worker" in job.stderr:
            self.skipTest("the build folder is not readable for other users")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout.count("2 on this node"), 2, job.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_another_user_cannot_open_a_segment(self) -> None:
        mark = f"OMPL_FAULT_TEST=open-{os.getpid()}"
        name, value = mark.split("=")
        with subprocess.Popen(
            omplrun("-n", "2", worker(), "block"),
            env={**os.environ, name: value},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as job:
            try:
                assert job.stdout is not None
                text = job.stdout.readline()
                found = re.search(r"pid (\d+)", text)
                self.assertIsNotNone(found, text)
                assert found is not None
                folder = f"/proc/{found[1]}/fd"
                segments = [f for f in os.listdir(folder) if "omnipgas" in os.readlink(f"{folder}/{f}")]
                self.assertGreaterEqual(len(segments), 1, "the segment is a memfd of that name")
                attempt = 'for f; do exec 3<>"$f" || exit 1; done'
                paths = [f"{folder}/{segment}" for segment in segments]
                for user, allowed in ((SOMEBODY_ELSE, False), (NOBODY, True)):
                    tried = run(["sh", "-c", attempt, "sh", *paths], user=user)
                    self.assertEqual(tried.returncode == 0, allowed, tried.stderr)
                    if not allowed:
                        self.assertIn("Permission denied", tried.stderr)
            finally:
                job.terminate()
                job.wait(timeout=LIMIT_S)


class Environment(unittest.TestCase):
    def test_an_unusable_launcher_environment_is_named(self) -> None:
        for variables, hint in (
            ({"PMI_FD": "999", "PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI_FD"),
            ({"PMI_FD": "0", "PMI_RANK": "0"}, "PMI_SIZE"),
            ({"OMPL_SEGMENT_SIZE": "lots"}, "OMPL_SEGMENT_SIZE"),
            ({"OMPL_LAUNCHER": "telepathy"}, "OMPL_LAUNCHER"),
        ):
            with self.subTest(variables=variables):
                job = run([worker(), "hello"], None, **variables)
                self.assertEqual(job.returncode, 1, job.stderr)
                self.assertIn(hint, job.stderr)

    def test_no_conduit_to_a_rank_of_another_node(self) -> None:
        job = run(omplrun("-n", "2", worker(), "hello"), OMPL_CONDUITS="self")
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("cannot be reached", job.stderr)
        self.assertIn("OMPL_CONDUITS", job.stderr)
        self.assertNotRegex(job.stderr, r"(?m); *$")
        # Every direct conduit of the list says why not, and nothing stands behind the last one.
        named = run(omplrun("-n", "2", "--node-of", "0,1", worker(), "hello"), OMPL_CONDUITS="self,shm")
        self.assertRegex(named.stderr, r"rank [01]: .*shm: ")
        self.assertNotRegex(named.stderr, r"(?m); *$")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount in a namespace of its own")
    def test_a_small_dev_shm_does_not_matter(self) -> None:
        mount = "mount -t tmpfs -o size=64m tmpfs /dev/shm && exec \"$@\""
        size = 200 << 20
        job = run(["unshare", "-m", "sh", "-c", mount, "sh", *omplrun("-n", "2", worker(), "fill", str(size))])
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout.count(f"filled {size}"), 2, job.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make PID namespaces")
    def test_ranks_in_pid_namespaces_of_their_own_share_memory(self) -> None:
        hidden = ["unshare", "--pid", "--fork", "--kill-child"]
        job = run(omplrun("-n", "3", *hidden, worker(), "fill", "100000"), OMPL_CONDUITS="self,shm")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout.count("filled 100000"), 3, job.stdout)
        why = run(omplrun("-n", "2", *hidden, str(Options.build / "bin/ompl-info"), "--why"))
        self.assertEqual(why.stdout.count("its segment passed over a socket"), 2, why.stdout + why.stderr)

    def test_ranks_of_which_only_one_maps_the_other_use_the_network(self) -> None:
        # Address space for five of the six segments of 16 GiB.
        limited = "ulimit -v 88080384 && exec \"$@\""
        job = run(
            omplrun("-n", "6", "sh", "-c", limited, "sh", worker(), "fill", "100000"),
            OMPL_CONDUITS="self,shm,tcp",
        )
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout.count("filled 100000"), 6, job.stdout)

    def test_64_ranks(self) -> None:
        job = run(omplrun("-n", "64", worker(), "hello"))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(len(re.findall(r"hello from \d+ of 64, 64 on this node", job.stdout)), 64)


class HangReport(unittest.TestCase):
    # omplrun says which lines are rank 1's; those of the other one may stand between them.
    PATTERN = (
        r"\[1\].*rank 1 of 2.*\n(\[0\].*\n)*"
        r"\[1\].*thread \d+: ompl_wait for \d+\.\d s, offset 0x[0-9a-f]+, flag is 0"
    )

    def test_after_the_time_that_was_asked_for(self) -> None:
        with Blocked(omplrun("-n", "2", worker(), "block"), OMPL_HANG_REPORT="1") as job:
            job.says(self.PATTERN)
            time.sleep(2)  # in which no other one may come
        self.assertEqual(job.said.count("hang report: rank 1"), 1, "once per blocked call")

    def test_on_sigusr1(self) -> None:
        with Blocked(omplrun("-n", "2", worker(), "block")) as job:
            pids = job.pids(2)  # said just before the call that blocks

            def ask() -> None:
                for pid in pids:
                    os.kill(pid, signal.SIGUSR1)

            job.says(self.PATTERN, ask)


    def test_names_the_collective_call_that_blocks(self) -> None:
        for call in ("barrier", "alloc", "free", "finalize"):
            for conduits in ("self,shm", "self,tcp", "self,ofi"):
                with self.subTest(call=call, conduits=conduits):
                    command = omplrun("-n", "2", worker(), "block-in", call)
                    with Blocked(command, OMPL_HANG_REPORT="1", OMPL_CONDUITS=conduits) as job:
                        job.says(rf"\[1\].*thread \d+: ompl_{call} for \d+\.\d s, rank 0 ")


class Cores(unittest.TestCase):
    """Rule 22: the cores that the ranks of a node may use together."""

    def cores(self, *prefix: str, bind: str) -> str:
        command = [*prefix, *omplrun("-n", "2", "--bind", bind, worker(), "block")]
        with Blocked(command, OMPL_HANG_REPORT="1") as job:
            return job.says(r"2 rank\(s\) on this node, (\d+) core")[1]

    def test_all_of_the_affinity(self) -> None:
        self.assertEqual(self.cores(bind="none"), str(len(os.sched_getaffinity(0))))

    def test_one_that_both_ranks_share(self) -> None:
        core = str(min(os.sched_getaffinity(0)))
        self.assertEqual(self.cores("taskset", "-c", core, bind="none"), "1")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "wants two cores")
    def test_one_of_each_rank(self) -> None:
        self.assertEqual(self.cores(bind="core"), "2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--kills", type=int, default=15)
    parser.parse_args(namespace=Options)
    Options.build = Options.build.resolve()
    run_tests()

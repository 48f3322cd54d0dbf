#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""omplrun leaves no process behind, and no name of shared memory, however it ends."""

import errno
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from omplrun_harness import (
    LIMIT,
    OMPLRUN,
    command,
    ended,
    main,
    processes_with,
    run,
    shell,
    started,
    token,
    wait_for_lines,
    wait_until,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "environments"))

from system_calls import refuse_calls

# A rank with a child in its process group, one that left its session, and one whose parent has ended.
FAMILY = "sleep {0} & setsid sleep {0} & (setsid sleep {0} &) ; sleep 0.2; echo ready; {1}"


class Cleanup(unittest.TestCase):
    def setUp(self) -> None:
        self.token = token()

    def sleepers(self) -> int:
        return len(processes_with(f"sleep\0{self.token}"))

    def wait_for_sleepers(self, count: int) -> None:
        self.assertTrue(wait_until(lambda: self.sleepers() >= count))

    def assert_nothing_left(self) -> None:
        self.assertTrue(wait_until(lambda: not processes_with(self.token)), processes_with(self.token))

    def test_the_check_sees_what_is_there(self) -> None:
        with started("-n", "2", "sh", "-c", FAMILY.format(self.token, "exec sleep 100")) as job:
            self.wait_for_sleepers(6)
            self.assertEqual(self.sleepers(), 6)
            wait_for_lines(job, 2)
            job.send_signal(signal.SIGTERM)
            self.assertEqual(ended(job).code, 143)
        self.assertEqual(processes_with(self.token), [], "omplrun returns after everything has ended")

    def test_after_a_proper_end(self) -> None:
        self.assertEqual(shell(2, FAMILY.format(self.token, "exit 0")).code, 0)
        self.assertEqual(processes_with(self.token), [])

    def test_after_a_crash(self) -> None:
        script = FAMILY.format(self.token, f"[ $PMI_RANK = 1 ] && kill -SEGV $$; sleep {self.token}")
        self.assertEqual(shell(2, script).code, 139)
        self.assertEqual(processes_with(self.token), [])

    def test_after_a_timeout(self) -> None:
        done = run(
            "-n", "2", "--timeout", "0.5", "sh", "-c", FAMILY.format(self.token, f"sleep {self.token}")
        )
        self.assertEqual(done.code, 124)
        self.assertEqual(processes_with(self.token), [])

    def test_after_omplrun_is_killed(self) -> None:
        with started("-n", "3", "sh", "-c", FAMILY.format(self.token, f"sleep {self.token}")) as job:
            wait_for_lines(job, 3)
            job.kill()
            job.wait()
        self.assert_nothing_left()

    def test_after_omplrun_is_killed_where_there_is_no_close_range(self) -> None:
        script = FAMILY.format(self.token, f"sleep {self.token}")
        with started("-n", "2", "sh", "-c", script, before=lambda: refuse_calls(errno.ENOSYS, "close_range")) as job:
            wait_for_lines(job, 2)
            job.kill()
            job.wait()
        self.assert_nothing_left()

    def test_what_was_there_before_is_left_alone(self) -> None:
        """A script starts something, and then becomes omplrun."""
        job = " ".join(command("-n", "1", "true"))
        durations = []
        for _ in range(3):
            begin = time.monotonic()
            with subprocess.Popen(
                ["sh", "-c", f"sleep {self.token} >/dev/null 2>&1 & echo $!; exec {job}"],
                stdout=subprocess.PIPE,
                text=True,
            ) as script:
                out, _ = script.communicate(timeout=LIMIT)
            durations.append(time.monotonic() - begin)
            self.assertEqual(script.returncode, 0)
            os.kill(int(out), signal.SIGKILL)  # it is still there
        self.assertLess(min(durations), 4, "omplrun gave up waiting for it after 5 s")
        self.assert_nothing_left()

    def test_what_cleared_its_environment(self) -> None:
        """No mark leads to it."""
        self.assertEqual(shell(1, f"env -i setsid sleep {self.token} >/dev/null 2>&1 &").code, 0)
        self.assertEqual(processes_with(self.token), [])

    def test_after_its_process_group_is_killed(self) -> None:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            with started(
                "-n", "2", "sh", "-c", FAMILY.format(self.token, f"sleep {self.token}")
            ) as job:
                wait_for_lines(job, 2)
                os.killpg(0, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.assert_nothing_left()

    def test_after_it_is_killed_while_starting(self) -> None:
        for sleepers in range(17):
            with started("-n", "16", "sleep", self.token) as job:
                self.wait_for_sleepers(sleepers)
                job.kill()
                job.wait()
            self.assert_nothing_left()

    def names(self) -> set[str]:
        """Of shared memory that this test's processes have left, without the pid of each."""
        return {name.partition(":")[2] for name in os.listdir("/dev/shm") if name.endswith(self.token)}

    def forget(self) -> None:
        for file in Path("/dev/shm").glob(f"*{self.token}"):
            file.unlink()

    def name_of_shared_memory(self, number: int) -> str:
        """In a shell, that of libfabric."""
        self.addCleanup(self.forget)
        return f"/dev/shm/$$:{os.geteuid()}:{number}{self.token}"

    def test_names_of_shared_memory_after_a_rank_was_killed(self) -> None:
        names = f"touch {self.name_of_shared_memory(0)} {self.name_of_shared_memory(1)}"
        end = f'[ $PMI_RANK = 1 ] && kill -KILL $$; sh -c "{names}; exec sleep {self.token}"'
        self.assertEqual(shell(2, f"{names}; sleep 0.2; {end}").code, 137)
        self.assertEqual(self.names(), set())

    def test_names_of_shared_memory_while_others_go_on(self) -> None:
        name = self.name_of_shared_memory(0)
        others = f"while [ -e /dev/shm/*{self.token} ]; do sleep 0.01; done; echo gone"
        script = f"if [ $PMI_RANK = 1 ]; then touch {name}; kill -KILL $$; else sleep 0.5; {others}; fi"
        self.assertIn("gone", shell(2, script, "--keep-going").out)

    def test_names_of_shared_memory_after_omplrun_is_killed(self) -> None:
        script = f"touch {self.name_of_shared_memory(0)}; echo ready; sleep {self.token}"
        with started("-n", "2", "sh", "-c", script) as job:
            wait_for_lines(job, 2)
            self.assertEqual(len(self.names()), 1, "the check sees what is there")
            job.kill()
            job.wait()
        self.assertTrue(wait_until(lambda: not self.names()))

    def test_names_of_shared_memory_of_ucx(self) -> None:
        """They tell of no process: those stay that are older than the job, or that somebody has open."""
        kept = Path(f"/dev/shm/ucx_shm_posix_old{self.token}")
        held = Path(f"/dev/shm/ucx_shm_posix_held{self.token}")
        left = f"/dev/shm/ucx_shm_posix_left{self.token}"
        self.addCleanup(self.forget)
        kept.touch()
        os.utime(kept, (0, 0))
        with held.open("w") as file:
            script = f"touch {left} {held}; [ $PMI_RANK = 1 ] && kill -KILL $$; exec sleep {self.token}"
            self.assertEqual(shell(2, script).code, 137)
            self.assertEqual(self.ucx_names(), {kept.name, held.name})
            file.write("x")
        self.forget()
        with started("-n", "1", "sh", "-c", f"touch {left}; echo ready; exec sleep {self.token}") as job:
            wait_for_lines(job, 1)
            job.kill()
            job.wait()
        self.assertTrue(wait_until(lambda: not self.ucx_names()))

    def ucx_names(self) -> set[str]:
        return {name for name in os.listdir("/dev/shm") if name.endswith(self.token)}

    def test_names_of_others_stay(self) -> None:
        """Of another process, another user, another form."""
        user = os.geteuid()
        ours = [f"$$0:{user}:0{self.token}", f"$$:{user + 1}:0{self.token}", f"$$-{user}:0{self.token}"]
        self.addCleanup(self.forget)
        self.assertEqual(shell(1, f"cd /dev/shm; touch {' '.join(ours)}; kill -KILL $$").code, 137)
        left = len(list(Path("/dev/shm").glob(f"*{self.token}")))
        self.assertEqual(left, len(ours))
        if user == 0:
            name = self.name_of_shared_memory(0)
            self.assertEqual(shell(1, f"touch {name}; chown 65534 {name}; kill -KILL $$").code, 137)
            self.assertEqual(len(list(Path("/dev/shm").glob(f"*{self.token}"))), left + 1)

    def test_a_job_inside_a_job(self) -> None:
        inner = f"{OMPLRUN} -n 2 sh -c 'setsid sleep {self.token} & sleep {self.token}'"
        with started("-n", "2", "sh", "-c", f"{inner} & sleep 0.3; echo ready; wait") as job:
            wait_for_lines(job, 2)
            self.wait_for_sleepers(8)
            job.kill()
            job.wait()
        self.assert_nothing_left()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What vm.py and job.sh promise.

vm_test.py BIN_DIR [NAME...]: all tests, or those named as unittest names them."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import image
import vm

HERE = Path(__file__).resolve().parent
BIN = Path()
LIMIT = 400.0  # seconds of one run, which vm.py ends before
# connect PROGRAM...: a client, as soon as its server listens (a program may take seconds to start there).
CONNECT = 'connect() { for i in {1..1000}; do "$@" && return; sleep 0.2; done; false; }\n'


def command(*arguments: str) -> list[str]:
    return [sys.executable, f"{HERE}/vm.py", *arguments]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=LIMIT, check=False)


def guests_of(folder: Path) -> list[str]:
    """The processes that have this folder in their command."""
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = cmdline.read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if str(folder) in text and vm.QEMU in text:
            found.append(text)
    return found


class Rig(unittest.TestCase):
    def setUp(self) -> None:
        # Where vm.py puts its folder, and what no process but its guests has in its command.
        temporary = TemporaryDirectory(prefix="ompl-vm-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        os.environ["TMPDIR"] = temporary.name

    def left(self) -> list[str]:
        return [*guests_of(self.folder), *map(str, self.folder.iterdir())]

    def assert_nothing_is_left(self) -> None:
        limit = time.monotonic() + LIMIT
        while self.left() and time.monotonic() < limit:
            time.sleep(0.1)
        self.assertEqual(self.left(), [])


class One(Rig):
    def test_the_command_and_its_files(self) -> None:
        with TemporaryDirectory() as name:
            job = Path(name)
            (job / "in").write_text("from the host\n")
            line = f"""
                cat in; tr a-z A-Z <in >out; echo an error >&2
                touch {HERE}/mark /usr/mark 2>/dev/null && echo the root is writable
                wc -c <{HERE}/vm.py; nproc; exit 7"""
            done = run("--cpus", "3", "--job", name, line)
            size = (HERE / "vm.py").stat().st_size
            self.assertEqual(done.stdout, f"from the host\n{size}\n3\n", (done.returncode, done.stderr))
            self.assertEqual((done.returncode, done.stderr), (7, "an error\n"))
            self.assertEqual((job / "out").read_text(), "FROM THE HOST\n")
            self.assertEqual(sorted(path.name for path in job.iterdir()), ["in", "out"])
        self.assert_nothing_is_left()

    def test_the_device(self) -> None:
        line = """
            ibv_devinfo -d rxe0 || exit
            for program in ib_write_lat ib_read_lat ib_atomic_lat; do
              $program -n 20 >/dev/null & connect $program -n 20 localhost >/dev/null && wait $! && echo $program works
            done"""
        done = run(CONNECT + line)
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in ("PORT_ACTIVE", "ib_write_lat works", "ib_read_lat works", "ib_atomic_lat works"):
            self.assertIn(expected, done.stdout)


class Failures(Rig):
    def test_a_command_that_hangs(self) -> None:
        done = run("--seconds", "12", "sleep", "10000")
        self.assertEqual(done.returncode, vm.NOT_FINISHED)
        self.assertIn("the console of guest 0:", done.stderr)
        self.assertIn("guest 0 did not finish within 12 s", done.stderr)
        self.assert_nothing_is_left()

    def test_a_guest_that_does_not_boot(self) -> None:
        with TemporaryDirectory() as name:
            (Path(name) / "vmlinux").symlink_to(image.FOLDER / "vmlinux")
            (Path(name) / "stamp").symlink_to(image.FOLDER / "stamp")
            (Path(name) / "initrd").touch()
            done = run("--image", name, "true")
        self.assertEqual(done.returncode, vm.NOT_FINISHED)
        self.assertIn("Kernel panic", done.stderr)
        self.assertIn("guest 0 did not finish before it or the other one ended", done.stderr)
        self.assert_nothing_is_left()

    def test_what_is_missing_is_said(self) -> None:
        done = run("--image", str(self.folder), "true")
        self.assertEqual((done.returncode, done.stderr), (vm.SKIP, ""))
        self.assertIn(f"skipped: no image in {self.folder}", done.stdout)

    def test_a_rig_that_is_ended(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                rig = subprocess.Popen(command("echo started; sleep 10000"), stdout=subprocess.PIPE, text=True)
                with rig:
                    self.addCleanup(rig.kill)
                    assert rig.stdout
                    self.assertEqual(rig.stdout.readline(), "started\n")  # output comes while it runs
                    self.assertEqual(len(guests_of(self.folder)), 1)
                    rig.send_signal(number)
                self.assertNotEqual(rig.returncode, 0)
                self.assert_nothing_is_left()


class Two(Rig):
    def test_they_reach_each_other(self) -> None:
        line = """
            busybox ping -c 1 10.7.0.$((2 - VM_ID)) && echo guest $VM_ID: ping works
            for program in "ibv_rc_pingpong -g 1 -n 50" "ib_write_lat -n 50"; do
              if [ $VM_ID = 0 ]; then $program; else connect $program 10.7.0.1; fi && echo guest $VM_ID: $program works
            done
            exit $((VM_ID * 3))"""
        done = run("--guests", "2", CONNECT + line)
        for guest in (0, 1):
            for program in ("ping", "ibv_rc_pingpong -g 1 -n 50", "ib_write_lat -n 50"):
                self.assertIn(f"guest {guest}: {program} works\n", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 3)  # the first that is not 0
        self.assert_nothing_is_left()


class Jobs(Rig):
    def test_three(self) -> None:
        def job(*words: str) -> str:
            return shlex.join((f"{HERE}/job.sh", f"{BIN}/omplrun", *words))

        # Not verbs;ofi_rxm: it asks these devices for longer completion queues than they have.
        ofi = ("--", "env", "OMPL_CONDUITS=self,shm,ofi", "OMPL_OFI_PROVIDER=tcp")
        layout = job("4", "--no-prefix", *ofi, f"{BIN}/ompl-info", "--why")
        program = job("2", *ofi, f"{BIN}/pingpong", "64", "20")
        death = job("2", "--keep-going", *ofi, f"{BIN}/tests/fault_worker", "die-during", "wait")
        done = run("--guests", "2", "--seconds", "350", f"{layout} && {program} && {death}")
        said = done.stdout + done.stderr
        reached = Counter(re.findall(r"rank \d: (\w+)", done.stdout))
        self.assertEqual(reached, {"self": 4, "shm": 4, "ofi": 8}, said)
        self.assertIn("64 bytes: ", done.stdout, said)
        self.assertIn("ompl_wait: ", done.stderr, said)  # what the rank in guest 1 was told of the one in guest 0
        self.assertIn("rank 0 was killed by SIGKILL", done.stderr, said)
        self.assertIn("rank 1 exited with code 3", done.stderr, said)
        self.assertIn(done.returncode, (128 + signal.SIGKILL, 3), said)  # whichever omplrun saw first
        self.assert_nothing_is_left()


def main(folder: str, *names: str) -> None:
    global BIN
    BIN = Path(folder).resolve()
    if reason := vm.why_not():
        print(f"skipped: {reason}")
        sys.exit(vm.SKIP)
    unittest.main(argv=[sys.argv[0], *names], verbosity=2)


if __name__ == "__main__":
    main(*sys.argv[1:])

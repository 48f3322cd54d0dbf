#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What hosts.py promises: that it fails when it should, and that nothing stays.

hosts_test.py OMPLRUN"""

import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import network

SKIP = 77
OMPLRUN = ""
HANGS = "echo going; exec sleep 4321"
UNTIL_DISTURBED = "echo going; until [ -e $HOSTS_DISTURBED ]; do sleep 0.1; done"
LIMIT = 240.0  # seconds of one run


def command(*arguments: str) -> list[str]:
    script = str(Path(__file__).with_name("hosts.py"))
    return [sys.executable, script, "--launcher", f"omplrun={OMPLRUN}", *arguments]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False
    )


def left_of(pid: int) -> list[str]:
    """The namespaces that this process made, and the programs in them."""
    found: list[str] = re.findall(rf"{network.PREFIX}-{pid}-\w+", network.run("ip", "netns", "list"))
    return found + [line for host in found for line in network.run("ip", "netns", "pids", host).split()]


class Hosts(unittest.TestCase):
    def test_hosts_reach_each_other_and_are_several(self) -> None:
        line = "busybox ping -c 1 10.77.0.3 && echo $OMPL_NODE_ID"
        done = run("--hosts", "3", "--ranks", "6", "sh", "-c", line)
        self.assertEqual(done.returncode, 0, done.stdout)
        hosts = sorted(re.findall(r"host(\d)$", done.stdout, re.MULTILINE))
        self.assertEqual(hosts, ["0", "0", "1", "1", "2", "2"])

    def test_what_must_fail(self) -> None:
        for why, arguments in {
            "exited with 3, 0 is right": ["sh", "-c", "exit 3"],
            'there is no "done"': ["--expect", "done", "true"],
            "the job ended before": ["--at", "3000 loss 5", "echo", "going"],
            "network: 0 packets were dropped": ["--at", "0 loss 5", "sh", "-c", UNTIL_DISTURBED],
            "did not end in 2 s": ["--seconds", "2", "sh", "-c", HANGS],
        }.items():
            with self.subTest(why):
                done = run(*arguments)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(why, done.stdout)

    def test_bad_options_are_named(self) -> None:
        for option in ("--at=1 burn 2", "--at=loss", "--launcher=carrier=pigeon"):
            done = run(option, "true")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(option.split("=")[1], done.stdout)

    def test_nothing_stays(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with subprocess.Popen(command("sh", "-c", HANGS), stdout=subprocess.PIPE, text=True) as job:
                self.addCleanup(job.kill)
                assert job.stdout
                self.assertIn("going", job.stdout.readline())
                self.assertGreater(len(left_of(job.pid)), 3)  # three namespaces with processes
                job.send_signal(number)
            if number == signal.SIGKILL:  # the processes go at once, the names with the next run
                run("true")
            limit = time.monotonic() + LIMIT
            while left_of(job.pid) and time.monotonic() < limit:
                time.sleep(0.1)
            self.assertEqual(left_of(job.pid), [], number)


if __name__ == "__main__":
    OMPLRUN = sys.argv.pop(1)
    if reason := network.why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    unittest.main(verbosity=2)

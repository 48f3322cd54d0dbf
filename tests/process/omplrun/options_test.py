#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""omplrun's options, and the command lines it refuses."""

import ctypes
import os
import resource
import tempfile
import unittest

from omplrun_harness import main, run, shell

CPUS = "grep Cpus_allowed_list: /proc/self/status"


class Options(unittest.TestCase):
    def test_wrong_ones_are_explained(self) -> None:
        for arguments, why in (
            (["true"], "omplrun: -n is required"),
            (["-n", "0", "true"], '-n: "0" is no number of ranks from 1 to 4096'),
            (["-n", "5000", "true"], '-n: "5000" is no number of ranks from 1 to 4096'),
            (["-n", "two", "true"], '-n: "two" is no number of ranks from 1 to 4096'),
            (["-np", "two", "true"], 'omplrun: -n: "two" is no number of ranks from 1 to 4096'),
            (["--keep-going", "-np", "2"], "which program?"),
            (["-n", "2"], "which program?"),
            (["-n", "2", "--no-such-option", "true"], "unknown option --no-such-option"),
            (
                ["-n", "2", "--node-of", "0,0,1", "true"],
                "--node-of names the nodes of 3 ranks, but -n is 2",
            ),
            (["-n", "2", "--env", "NOVALUE", "true"], "NOVALUE"),
            (
                ["-n", "2", "--node-of", "a,b", "true"],
                '--node-of: "a" is no number of a node from 0 to 4096',
            ),
            (["-n", "2", "--bind", "socket", "true"], '--bind: "socket" is not one of none, core and auto'),
            (["-n", "2", "--bind", "1", "true"], '--bind: "1" is not one of none, core and auto'),
            (["-n", "2", "--timeout", "-1", "true"], '--timeout: "-1" is no finite number of seconds'),
            (["-n", "2", "--timeout", "abc", "true"], '--timeout: "abc" is no finite number of seconds'),
            (["-n", "2", "--timeout", "nan", "true"], "no finite number"),
            (["-n", "2", "--grace", "inf", "true"], "no finite number"),
            (["-n", "2", "--wdir", "/no/such/directory", "true"], "/no/such/directory"),
        ):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.code, 2)
                self.assertIn(why, done.err)

    def test_the_programs_own_options_are_left_alone(self) -> None:
        done = run("-n", "1", "echo", "-n", "--timeout", "x", "--")
        self.assertEqual((done.code, done.out), (0, "[0] --timeout x --\n"))
        done = run("-n", "1", "--", "echo", "a")
        self.assertEqual((done.code, done.out), (0, "[0] a\n"))

    def test_np_is_n(self) -> None:
        for arguments in (("-np", "2"), ("--no-prefix", "--timeout", "60", "-np", "2")):
            done = run(*arguments, "echo", "-np", "3")
            self.assertEqual((done.code, done.out.count("-np 3\n")), (0, 2))

    def test_help_and_version(self) -> None:
        self.assertIn("--node-of", run("--help").out)
        self.assertIn("\nUsage: omplrun -n N [OPTIONS] PROGRAM [ARGUMENTS]\n\nOptions:\n", run("--help").out)
        self.assertRegex(run("--version").out, r"^omplrun \d+\.\d+\.\d+\n$")

    def test_env(self) -> None:
        done = shell(1, 'echo "$A|$B"', "--env", "A=1=2", "--env", "B=x y")
        self.assertEqual(done.out, "[0] 1=2|x y\n")

    def test_wdir(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(
                shell(1, "pwd -P", "--wdir", folder).out, f"[0] {os.path.realpath(folder)}\n"
            )

    def test_node_of(self) -> None:
        done = shell(4, "echo $OMPL_NODE_ID", "--node-of", "0,0,3,1")
        self.assertEqual(
            sorted(done.out.splitlines()), ["[0] node0", "[1] node0", "[2] node3", "[3] node1"]
        )

    def test_too_few_descriptors(self) -> None:
        """For two streams of each rank, and for one."""

        def limit() -> None:
            drop_from_bounding_set, raise_limits = 24, 24
            ctypes.CDLL(None).prctl(drop_from_bounding_set, raise_limits, 0, 0, 0)
            resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))

        script = ["sh", "-c", "ulimit -n; echo error >&2"]
        done = run("-n", "14", *script, before=limit)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("standard error goes with their standard output", done.err)
        lines = [f"[{rank}] {text}" for rank in range(14) for text in ("96", "error")]
        self.assertEqual(sorted(done.out.splitlines()), sorted(lines))
        done = run("-n", "20", *script, before=limit)
        self.assertEqual(done.code, 1)
        self.assertIn("20 ranks take 104 descriptors, and no more than 96 are allowed", done.err)

    def test_bind(self) -> None:
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("one core: nothing to share out")
        unbound = {line.split()[-1] for line in shell(2, CPUS, "--bind", "none").out.splitlines()}
        bound = {line.split()[-1] for line in shell(2, CPUS, "--bind", "core").out.splitlines()}
        self.assertEqual(len(unbound), 1)
        self.assertEqual(len(bound), 2)
        crowded = shell(len(cpus) + 1, CPUS).out.splitlines()
        self.assertEqual({line.split()[-1] for line in crowded}, unbound)
        alone = shell(1, CPUS, "--bind", "core").out.split()[-1]
        self.assertEqual({alone}, unbound)


if __name__ == "__main__":
    main()

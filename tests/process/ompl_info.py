#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ompl-info says what is true: ompl_info.py BUILD_DIR."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() / "bin"


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool of the build."""
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=240,
        check=False,
    )


class OmplInfo(unittest.TestCase):
    def test_build_conduits_and_variables(self) -> None:
        info = run("ompl-info")
        self.assertEqual(info.returncode, 0, info.stderr)
        version = run("ompl-info", "--version").stdout.strip()
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertIn(f"omnipgas {version}", info.stdout)
        for conduit in ("self", "shm"):
            self.assertRegex(info.stdout, rf"\n  {conduit} .*; usable\n")
        source = (Path(__file__).parents[2] / "src/util/settings.cpp").read_text()
        names = set(re.findall(r'"(OMPL_[A-Z_]+)"', source))
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertRegex(info.stdout, rf"\n  {name} +\S+ +\S.*\(type .*, default .*\)")

    def test_what_the_environment_sets_is_marked(self) -> None:
        info = run("ompl-info", "--variables", OMPL_CREDITS="7")
        self.assertRegex(info.stdout, r"\n\* OMPL_CREDITS +7 ")
        self.assertEqual(info.stdout.count("\n*"), 1)

    def test_a_conduit_left_out_says_so(self) -> None:
        self.assertRegex(run("ompl-info", OMPL_CONDUITS="self").stdout, r"\n  shm .*left out by OMPL_CONDUITS")

    def test_the_core_of_a_progress_thread(self) -> None:
        info = run("ompl-info").stdout
        self.assertRegex(info, r"\nProgress of collectives, if a process is alone on its cores \(.+\)\n  none ")
        self.assertRegex(info, r"\n  spare   a thread on processor \d+(,\d+)* \(.* of this process.*\)\n")
        self.assertRegex(
            info, r"\n  node    a thread of one process for all ranks of a node, on processor \d+.*; it may "
        )
        mine = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, mine)
        for processor in mine:
            os.sched_setaffinity(0, {processor})
            text = f"a thread on processor {processor} (1 core(s) of this process: it computes there too"
            self.assertIn(text, run("ompl-info").stdout)

    def test_a_bad_value_is_named(self) -> None:
        info = run("ompl-info", OMPL_CREDITS="many")
        self.assertEqual(info.returncode, 1)
        self.assertIn("OMPL_CREDITS", info.stderr)

    def test_why_each_rank_is_reached_as_it_is(self) -> None:
        why = run("omplrun", "--no-prefix", "-n", "2", str(BIN / "ompl-info"), "--why")
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertEqual(why.stdout.count(": self (self: this rank itself)"), 2, why.stdout)
        self.assertEqual(why.stdout.count(": shm (self: another rank; shm: on the same node"), 2)
        self.assertEqual(len(re.findall(r"\n  progress mode spare: processor \d", why.stdout)), 2, why.stdout)
        self.assertEqual(len(re.findall(r"\n  progress mode node: a thread of rank 0\b", why.stdout)), 2, why.stdout)
        self.assertEqual(len(re.findall(r"a thread of rank 0 on processor \d", why.stdout)), 1, why.stdout)

    def test_why_a_rank_cannot_be_reached(self) -> None:
        why = run("omplrun", "-n", "2", "--node-of", "0,1", str(BIN / "ompl-info"), "--why", OMPL_CONDUITS="self,shm")
        self.assertNotEqual(why.returncode, 0)
        # Both ranks say so; the first to end may be the only one that is heard.
        self.assertRegex(why.stderr, r"on another node \(id (?:node1; this is id node0|node0; this is id node1)\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)

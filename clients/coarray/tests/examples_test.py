#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples_test.py BUILD: the programs of examples/coarray, which compare with one image alone, on several images.
OMPL_TEST_FFLAGS has further options of the compiler."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 240
FLAGS = os.environ.get("OMPL_TEST_FFLAGS", "").split()
EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples/coarray").glob("*.f90"))
SAYS = {"heat": r"off by +\d", "transpose": "images: equal"}
# Sizes that divide among the images, with blocks that do not fit.
ARGUMENTS = {"heat": [(), ("12", "7")], "transpose": [(), ("36", "5")]}
BUILD = Path()


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of the build's bin folder."""
    return subprocess.run(
        [str(BUILD / "bin" / command[0]), *map(str, command[1:])], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, env=os.environ | environment,
    )  # fmt: skip


def conduits() -> list[str]:
    """Through memory, and over TCP where this build can."""
    return ["self,shm"] + ["self,ofi"] * (re.search(r"^ *ofi\b", run("ompl-info").stdout, re.MULTILINE) is not None)


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def runs(self, program: Path, arguments: tuple[str, ...], conduits: str, images: int) -> None:
        """A job, over a network each image as on a node of its own."""
        apart = [] if "shm" in conduits else ["--node-of", ",".join(map(str, range(images)))]
        options = ("--timeout", "200", "-np", str(images), *apart)
        done = run("cafrun", *options, program, *arguments, OMPL_CONDUITS=conduits)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, SAYS[program.name])

    def test_examples(self) -> None:
        self.assertEqual([example.stem for example in EXAMPLES], sorted(SAYS))
        for example in EXAMPLES:
            program = self.folder / example.stem
            done = run("caf", "-O2", "-Wall", "-Wextra", *FLAGS, example, "-o", program)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            for over in conduits():
                for images in (1, 2, 4) if "shm" in over else (3,):
                    for arguments in ARGUMENTS[example.stem]:
                        with self.subTest(example=example.name, conduits=over, images=images, arguments=arguments):
                            self.runs(program, arguments, over, images)


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])

# SPDX-License-Identifier: BSD-3-Clause
"""Compiles OpenSHMEM programs by the build's oshcc and oshc++, and runs them by its oshrun."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 240


class Jobs(unittest.TestCase):
    """A test with a folder of its own."""

    build = Path()

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tool(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.build / "bin" / command[0]), *map(str, command[1:])], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, env=os.environ | environment, cwd=self.folder,
        )  # fmt: skip

    def compile(self, text: str, *options: str, suffix: str = ".c") -> Path:
        source = self.folder / f"program{suffix}"
        source.write_text(text)
        program = self.folder / "program"
        compiler = "oshcc" if suffix == ".c" else "oshc++"
        done = self.run_tool(compiler, "-Wall", "-Wextra", "-Werror", *options, source, "-o", program, "-pthread")
        self.assertEqual(done.returncode, 0, done.stdout)
        return program

    def job(self, program: Path, *arguments: str, pes: int = 2, **environment: str) -> tuple[int, str]:
        done = self.run_tool(
            "oshrun", "--timeout", "200", "-np", str(pes), program, *arguments,
            **({"OMPL_CONDUITS": "self,shm"} | environment),
        )  # fmt: skip
        return done.returncode, done.stdout

    def succeeds(self, program: Path, *arguments: str, pes: int = 2, **environment: str) -> str:
        code, said = self.job(program, *arguments, pes=pes, **environment)
        self.assertEqual(code, 0, said)
        return said

    def conduits(self) -> list[str]:
        """Through memory, and over TCP where this build can."""
        listed = self.run_tool("ompl-info").stdout
        return ["self,shm"] + ["self,ofi"] * (re.search(r"^ *ofi\b", listed, re.MULTILINE) is not None)

    def fails(self, program: Path, pattern: str, *arguments: str, pes: int = 2, **environment: str) -> str:
        """The job ends with an error, and says what matches the pattern."""
        code, said = self.job(program, *arguments, pes=pes, **environment)
        self.assertNotIn(code, (0, 124), said)
        self.assertIsNotNone(re.search(pattern, said), f"{pattern}\n{said}")
        return said


def main() -> None:
    """NAME_test.py BUILD [ARGUMENTS of unittest]."""
    Jobs.build = Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])

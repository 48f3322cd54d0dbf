#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No program shows control characters of names and values to a terminal: hostile_names.py BUILD_DIR."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve() / "bin"
COLOUR, TITLE, BELL, C1 = "\x1b[31m", "\x1b]0;x\x07", "\x07", "\x9b"
NAME = f"no{COLOUR}such{TITLE}{BELL}{C1}ü"
SHOWN = r"no\x1b[31msuch\x1b]0;x\x07\x07\xc2\x9bü"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")

# Each says something of NAME and fails.
COMMANDS: dict[str, tuple[str, ...]] = {
    "omplrun": ("-n", "1", f"./{NAME}"),
    "omplrun option": ("-n", NAME, "true"),
    "omplrun unknown option": ("-n", "1", f"--{NAME}"),
    "ompl-info": (NAME,),
    "ompl-model": ("predict", "ring:2:1:1", "--params", "myrinet", f"--{NAME}"),
    "ompl-model trace": ("predict", NAME, "--params", "myrinet"),
    "ompl-model machine": ("predict", "ring:4:10:8", "--params", NAME),
    "ompl_trace_dump": (NAME,),
    "ompl_trace_dump option": (NAME, NAME),
    "ompl-bench-verbs": (NAME,),
    "ompl_partition": ("--generate", NAME),
    "ompl_cg": ("cg", "--matrix", NAME),
    "ompl_cg option": ("cg", f"--{NAME}"),
    "ompl_bench_raw": ("--threads", NAME, "--control", "x", "--bytes", "8"),
    "ompl_connected_ompl": ("--threads", NAME, "--control", "x", "--bytes", "8"),
}
# The environment's: a value that is refused, one that is shown, one that only the library's log tells of.
VALUES = {"OMPL_CREDITS": "ompl-info", "OMPL_CONDUITS": "ompl-info", "OMPL_OFI_PROVIDER": "ompl-info"}


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(BIN / program), *arguments], env={**os.environ, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


class HostileNames(unittest.TestCase):
    def shows(self, done: subprocess.CompletedProcess[bytes]) -> None:
        text = (done.stdout + done.stderr).decode(errors="replace")
        self.assertIn(SHOWN, text)
        self.assertIsNone(OBEYED.search(text), repr(text))

    def test_arguments(self) -> None:
        tried = 0
        for what, arguments in COMMANDS.items():
            program = what.split()[0]
            if not (BIN / program).is_file():  # an option of the build
                continue
            with self.subTest(what):
                done = run(program, *arguments)
                self.assertNotEqual(done.returncode, 0)
                self.shows(done)
                tried += 1
        self.assertGreater(tried, 4)

    def test_values_of_the_environment(self) -> None:
        for name, program in VALUES.items():
            with self.subTest(name):
                self.shows(run(program, **{name: NAME}))

    def test_the_log_of_the_library(self) -> None:
        unused = {"OMPL_CONDUITS": f"self,{NAME}", "OMPL_LOG": "info"}
        for setting in ({"OMPL_CREDITS": NAME}, unused, {f"OMPL_CREDITS{BELL}": "1"}):
            with self.subTest(setting):
                done = run("tests/rules_worker", "node", **setting)
                text = done.stderr.decode(errors="replace")
                self.assertIn("\\x", text)
                self.assertIsNone(OBEYED.search(text), repr(text))


if __name__ == "__main__":
    unittest.main()

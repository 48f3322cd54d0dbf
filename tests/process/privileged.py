#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A set-user-ID program believes nothing of the environment that its caller gives it: privileged.py BUILD_DIR."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 250.0
OTHER_USER = 65534
BUILD = Path()


class Privileged(unittest.TestCase):
    folder: Path

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.program = self.folder / "ompl-info"
        shutil.copy(BUILD / "bin/ompl-info", self.program)

    def run_as_other_user(self, set_user: bool, **environment: str) -> str:
        self.program.chmod(0o4755 if set_user else 0o755)
        done = subprocess.run(
            [str(self.program)],
            env={"PATH": os.environ["PATH"], **environment},
            user=OTHER_USER,
            cwd="/",
            text=True,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return done.stdout + done.stderr

    def test_the_environment_is_not_read(self) -> None:
        """Neither settings, nor a launcher, nor a library of the caller's choice."""
        wrong = {"OMPL_SEGMENT_SIZE": "no size", "PMI_RANK": "3", "PMIX_RANK": "4"}
        self.assertIn("OMPL_SEGMENT_SIZE", self.run_as_other_user(False, **wrong), "the test shows something")
        self.assertNotIn("no size", self.run_as_other_user(True, **wrong))

    def test_no_library_is_loaded_that_takes_folders_from_it(self) -> None:
        self.assertIn("AT_SECURE", self.run_as_other_user(True))
        self.assertNotIn("AT_SECURE", self.run_as_other_user(False))


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).resolve()
    if os.geteuid() != 0:
        print("not root: no program can be made that changes its user")
        sys.exit(77)
    if os.statvfs(tempfile.gettempdir()).f_flag & os.ST_NOSUID:
        print(f"{tempfile.gettempdir()} is mounted nosuid")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v"])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""habits_test.py ROOT: what the hook for messages of commits lets pass, and that each step of a workflow of the service
is a command of this tree."""

import contextlib
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "scripts"))
SKIPPED = 77
LIMIT_S = 60
BODY = "\n\nIt says why.\n"


class Habits(unittest.TestCase):
    def test_messages_of_commits(self) -> None:
        for good in ("core: wait once", "conduit/tcp, docs: name the port", "core: " + 66 * "x"):
            self.assertEqual(commit_msg.faults(good + BODY + "# a comment of git's\n"), [], good)
        for bad, why in (
            ("core: " + 67 * "x" + BODY, "73 characters"),
            ("wait once" + BODY, "a colon"),
            ("core: wait once." + BODY, "full stop"),
            ("core: wait once", "body is missing"),
            ("core: wait once\nIt says why.", "empty line"),
            ("fixup! core: wait once" + BODY, "squashed"),
            ("core: wait once\n\n" + 101 * "x", "101 characters"),
            ("", "begins with"),
        ):
            self.assertIn(why, " ".join(commit_msg.faults(bad)), bad)

    def test_messages_of_a_range_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run([*git, "init", "-q"], check=True, timeout=LIMIT_S)
            for message in ("core: one\n\nWhy.", "two", "core: three"):
                commit = [*git, "commit", "-q", "--allow-empty", "-m", message]
                subprocess.run(commit, check=True, timeout=LIMIT_S)
            with contextlib.chdir(folder):
                found = commit_msg.messages("HEAD~2..HEAD")
                self.assertEqual([text.strip() for text in found.values()], ["core: three", "two"])
                self.assertEqual(commit_msg.main(["--range", "HEAD~1..HEAD"]), 1)

    def test_steps_of_workflows_are_commands_of_this_tree(self) -> None:
        goals = set(re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        goals = {goal for line in goals for goal in line.split()}
        presets = (ROOT / "CMakePresets.json").read_text()
        names = [path.stem for path in (ROOT / ".github/workflows").glob("*.yml")]
        self.assertGreater(len(names), 2)
        for name in names:
            for job in workflow.load(name).values():
                self.assertLessEqual(job["timeout-minutes"], 360)  # the service's own limit
                lines = workflow.commands(job)
                self.assertTrue(lines)
                for line in lines:
                    self.check(line, goals, presets)

    def check(self, line: str, goals: set[str], presets: str) -> None:
        words = line.split()
        if words[0] == "make":
            self.assertIn(words[1], goals, line)
        elif words[0] in ("cmake", "ctest"):
            preset = words[words.index("--preset") + 1] if "--preset" in words else words[-1]
            self.assertIn(f'"name": "{preset}"', presets, line)
        elif "/" in words[0]:
            self.assertTrue((ROOT / words[0]).is_file(), line)
        else:
            self.assertIn(words[0], ("apt-get", "git"), line)


if __name__ == "__main__":
    try:
        import commit_msg
        import workflow
    except ModuleNotFoundError as absent:
        print(f"{absent.name} is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)

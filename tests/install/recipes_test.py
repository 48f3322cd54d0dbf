#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recipes_test.py ROOT: what packaging/ says of the tree is so. Options of CMake exist, the two images are made alike,
and the Debian packages that they install are those that the tree is built with. docs/how-to/packaging.md says which
recipes were run, and how."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
RECIPES = sorted(
    path for path in (ROOT / "packaging").rglob("*")
    if path.is_file() and path.parts[-2] in ("conda", "containers", "easybuild", "nix", "rpm", "spack")
)  # fmt: skip


def flags(text: str) -> list[str]:
    return re.findall(r"-D(OMPL_\w+=\w+)", text)


class Recipes(unittest.TestCase):
    def test_options_are_those_of_cmake(self) -> None:
        known = set(re.findall(r"^option\((OMPL_\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE))
        known |= {"OMPL_BUILD_MAN", "OMPL_PYTHON"}
        self.assertGreater(len(RECIPES), 5)
        for path in RECIPES:
            text = path.read_text()
            used = {flag.split("=")[0] for flag in flags(text)} | set(re.findall(r'"(OMPL_\w+)"', text))
            self.assertTrue(used, f"{path.name} chooses nothing")
            self.assertLessEqual(used, known, path.name)

    def test_every_recipe_leaves_out_tests_and_examples(self) -> None:
        for path in RECIPES:
            text = path.read_text()
            for part in ("TESTS", "EXAMPLES"):
                self.assertRegex(text, rf'OMPL_BUILD_{part}(=OFF|", False)', path.name)

    def test_both_images_are_made_alike(self) -> None:
        docker = (ROOT / "packaging/containers/Dockerfile").read_text()
        apptainer = (ROOT / "packaging/containers/omnipgas.def").read_text()
        self.assertEqual(flags(docker), flags(apptainer))

        def packages(text: str) -> set[str]:
            first = re.findall(r"install -y --no-install-recommends ((?:[a-z0-9][a-z0-9+.-]*[ \\\n]+)+)", text)[0]
            return set(first.replace("\\", " ").split())

        wanted, made = packages(docker), packages(apptainer)
        self.assertEqual(wanted, made)
        known = (ROOT / "scripts/setup.sh").read_text() + (ROOT / "scripts/packages-quick.txt").read_text()
        lacking = {name for name in wanted if name not in known} - {"ca-certificates", "python3"}
        self.assertEqual(lacking, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml describes; in a platform's wheel (scripts/wheel.py) also the tree OMPL_WHEEL_TREE, with the
library, headers and programs, which goes below the environment that the wheel is installed in."""

import os
from collections import defaultdict
from pathlib import Path

from setuptools import setup

tree = os.environ.get("OMPL_WHEEL_TREE")
if tree:
    from setuptools.command.bdist_wheel import bdist_wheel

    class PlatformWheel(bdist_wheel):
        """For any Python 3, but one platform."""

        def finalize_options(self) -> None:
            super().finalize_options()
            self.root_is_pure = False

        def get_tag(self) -> tuple[str, str, str]:
            return "py3", "none", super().get_tag()[2]

    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(Path(tree).rglob("*")):
        if path.is_file():
            files[str(path.parent.relative_to(tree))].append(str(path))
    setup(cmdclass={"bdist_wheel": PlatformWheel}, data_files=sorted(files.items()))
else:
    setup()

# SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml does not say: in a wheel (packaging/wheel/wheel.py) the tree OMPL_WHEEL_TREE, with the programs
that omni starts, which goes below the environment that the wheel is installed in."""

import os
from collections import defaultdict
from pathlib import Path

from setuptools import Distribution, setup


class Programs(Distribution):
    """A wheel with programs is one platform's, but any Python's."""

    def has_ext_modules(self) -> bool:
        return "OMPL_WHEEL_TREE" in os.environ


def files_below(tree: Path) -> list[tuple[str, list[str]]]:
    """As data_files: each folder with the files in it."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            folders[str(path.parent.relative_to(tree))].append(str(path))
    return sorted(folders.items())


whole = os.environ.get("OMPL_WHEEL_TREE")
setup(
    distclass=Programs,
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    data_files=files_below(Path(whole)) if whole else [],
)

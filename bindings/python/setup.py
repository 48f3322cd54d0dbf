# SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml does not say: the extension module omnipgas._core; and in a wheel of the whole
(packaging/wheel/wheel.py) the tree OMPL_WHEEL_TREE, with the library, headers and programs, which goes below the
environment that the wheel is installed in.

Where the extension cannot be compiled (no compiler, no Python.h) the package is installed without it, and
omnipgas.init() says what is missing.
"""

import os
from collections import defaultdict
from pathlib import Path

from setuptools import Extension, setup


def files_below(tree: Path) -> list[tuple[str, list[str]]]:
    """As data_files: each folder with the files in it."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            folders[str(path.parent.relative_to(tree))].append(str(path))
    return sorted(folders.items())


whole = os.environ.get("OMPL_WHEEL_TREE")
setup(
    ext_modules=[
        Extension(
            "omnipgas._core",
            ["core/module.c", "core/context.c", "core/extended.c", "core/handle.c", "core/halo.c"],
            depends=["core/core.h"],
            include_dirs=["../../include"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=not whole,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    data_files=files_below(Path(whole)) if whole else [],
)

# SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml does not say: the extension module omnipgas._core; and in a wheel of the whole
(packaging/wheel/wheel.py) the files that OMPL_WHEEL_FILES lists: the library, headers and programs, which go below the
environment that the wheel is installed in.

Where the extension cannot be compiled (no compiler, no Python.h) the package is installed without it, and
omnipgas.init() says what is missing.
"""

import json
import os
import re
from pathlib import Path

from setuptools import Extension, setup

listed = os.environ.get("OMPL_WHEEL_FILES")
header = Path(__file__).resolve().parents[2] / "include/omnipgas/ompl.h"  # the version stands there alone
version = re.findall(r'OMPL_VERSION_TEXT "(.+)"', header.read_text())[0]
setup(
    version=version,
    extras_require={"tools": [f"omnipgas-tools=={version}"]},
    ext_modules=[
        Extension(
            "omnipgas._core",
            [f"core/{part}.c" for part in ("module", "context", "extended", "handle", "indexed", "halo", "calls")],
            depends=["core/core.h"],
            include_dirs=["../../include"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=not listed,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    data_files=json.loads(Path(listed).read_text()) if listed else [],
)

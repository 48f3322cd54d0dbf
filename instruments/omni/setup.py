# SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml does not say: in a wheel (packaging/wheel/wheel.py) the files that OMPL_WHEEL_FILES lists, among
them the programs that omni starts, which go below the environment that the wheel is installed in."""

import json
import os
import re
from pathlib import Path

from setuptools import Distribution, setup

listed = os.environ.get("OMPL_WHEEL_FILES")
header = Path(__file__).resolve().parents[2] / "include/omnipgas/ompl.h"  # the version stands there alone
version = re.findall(r'OMPL_VERSION_TEXT "(.+)"', header.read_text())[0]
REQUIRED = ("typer>=0.7", "rich>=13", "numpy>=1.24", "matplotlib>=3.6", "fastjsonschema>=2.16")


class Programs(Distribution):
    """A wheel with programs is one platform's, but any Python's."""

    def has_ext_modules(self) -> bool:
        return listed is not None


setup(
    version=version,
    install_requires=[f"omnipgas=={version}", *REQUIRED],
    distclass=Programs,
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    data_files=json.loads(Path(listed).read_text()) if listed else [],
)

# SPDX-License-Identifier: BSD-3-Clause
"""The extension module omnipgas._core; all else stands in pyproject.toml.

Where it cannot be compiled (no compiler, no Python.h) the package is installed without it: the omni command works, and
omnipgas.init() says what is missing.
"""

from setuptools import Extension, setup  # type: ignore[import-untyped]

setup(
    ext_modules=[
        Extension(
            "omnipgas._core",
            ["core/module.c", "core/context.c", "core/extended.c", "core/handle.c"],
            depends=["core/core.h"],
            include_dirs=["../include"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

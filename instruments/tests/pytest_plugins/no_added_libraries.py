# SPDX-License-Identifier: BSD-3-Clause
"""A plugin: tests see none of the libraries that the user has told `omni libs add` of."""

import os
import tempfile

import pytest


def pytest_configure(config: pytest.Config) -> None:
    folder = tempfile.TemporaryDirectory()
    os.environ["XDG_CONFIG_HOME"] = folder.name
    config.add_cleanup(folder.cleanup)

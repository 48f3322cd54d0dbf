# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin: tests marked `long` run only if OMPL_TEST_LONG asks: `1` for them too, `only` for nothing else."""

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: too long for `make check`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = os.environ.get("OMPL_TEST_LONG")
    wanted = {None: (False,), "1": (False, True), "only": (True,)}[asked]
    others = [item for item in items if (item.get_closest_marker("long") is not None) not in wanted]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)

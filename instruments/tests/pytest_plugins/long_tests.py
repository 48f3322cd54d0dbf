# SPDX-License-Identifier: BSD-3-Clause
"""A plugin: OMPL_TEST_LONG says which tests run: those not marked `long` (0, or unset), all (1), others (only)."""

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: too long for `make check`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = os.environ.get("OMPL_TEST_LONG", "0")
    wanted = {"0": (False,), "1": (False, True), "only": (True,)}[asked]
    others = [item for item in items if (item.get_closest_marker("long") is not None) not in wanted]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)

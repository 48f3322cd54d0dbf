# SPDX-License-Identifier: BSD-3-Clause
"""Nothing stays of jobs that were aborted."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tests/process"))

from launcher_test import leftovers, remove_orphans


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    before = leftovers()
    yield
    remove_orphans(leftovers() - before)

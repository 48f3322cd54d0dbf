# SPDX-License-Identifier: BSD-3-Clause
"""What the Python tests share: they run on two ranks, each of which runs every test at the same time."""

import sys
import unittest
from typing import Any

import omnipgas

OK_LIMIT = 200.0  # seconds; reached only if something is wrong
session = omnipgas.init()
rank = omnipgas.rank()
partner = 1 - rank


class Ranks(unittest.TestCase):
    """Every test begins and ends with both ranks together."""

    def setUp(self) -> None:
        omnipgas.barrier()

    def tearDown(self) -> None:
        omnipgas.barrier()

    def fails(self, code: int, hint: str, call: Any, *arguments: Any) -> None:
        with self.assertRaises(omnipgas.OmplError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(hint, caught.exception.detail)
        self.assertEqual(str(caught.exception), caught.exception.detail)


def run(*cases: type[unittest.TestCase]) -> int:
    """Runs the tests in this order, the same on both ranks; the exit status."""
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    tests = unittest.TestSuite(load(case) for case in cases)
    outcome = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests)
    return 0 if outcome.wasSuccessful() and outcome.testsRun > len(cases) else 1

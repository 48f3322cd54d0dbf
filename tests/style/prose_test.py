#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose_test.py ROOT: each rule of scripts/prose.py finds a seeded fault, and finds none in sound text."""

import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "scripts"))
import prose  # noqa: E402

SOUND = """# Put

A put copies bytes to another rank. What counts is the time until they are visible. Who said so?

- What to do: call `ompl_flush`.

```c
Of for ever for ever
```

    Of a listing, however long it may be
"""


class Rules(unittest.TestCase):
    def faults(self, text: str) -> str:
        return "\n".join(f"{fault.line}: {fault.text}" for fault in prose.own_rules(text))

    def test_sound_text_has_no_finding(self) -> None:
        self.assertEqual(self.faults(SOUND), "")

    def test_each_rule_finds_its_fault(self) -> None:
        for text, found in (
            ("x" * 121, "1: 121 columns: at most 120"),
            ("Whole.\n" * 301, "1: 301 lines: at most 300"),
            ("A line.\n" * 7, "1: a paragraph of 7 lines: at most 6"),
            ("- An item.\n" + "  more\n" * 6, "1: a paragraph of 7 lines: at most 6"),
            ("It waits. Of no bytes only the arrival counts.", "no subject"),
            ("Who goes on with it.", "no subject"),
            ("What it found.", "no subject"),
            ("The puts " + "and the gets " * 14 + "end.", "a clause of 45 words"),
            ("It waits for ever.", '1: "for ever": write forever'),
            ("It takes the the lock.", "a word twice"),
        ):
            self.assertIn(found, self.faults(text), text)

    def test_semicolons_and_colons_divide(self) -> None:
        text = "The puts " + "and the gets " * 8 + "end;\n" + "all the rest " * 8 + "ends."
        self.assertEqual(self.faults(text), "")

    def test_the_list_names_pages_that_need_it(self) -> None:
        self.assertTrue(set(prose.pending()) < set(prose.pages()))


if __name__ == "__main__":
    unittest.main(verbosity=2)

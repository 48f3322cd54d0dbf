#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples_test.py BUILD: the programs of examples/shmem, which check their results, on several numbers of PEs."""

from pathlib import Path

from jobs import Jobs, main

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples/shmem").glob("*.c"))


class Examples(Jobs):
    def test_examples(self) -> None:
        self.assertEqual(len(EXAMPLES), 6)
        for example in EXAMPLES:
            program = self.folder / example.stem
            command = ("oshcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", example, "-o", program, "-lm")
            done = self.run_tool(*command)
            self.assertEqual(done.returncode, 0, done.stdout)
            for conduits in self.conduits():
                for pes in (1, 2, 4) if "shm" in conduits else (2,):
                    with self.subTest(example=example.name, conduits=conduits, pes=pes):
                        self.succeeds(program, pes=pes, OMPL_CONDUITS=conduits)


if __name__ == "__main__":
    main()

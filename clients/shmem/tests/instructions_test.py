#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""instructions_test.py BUILD: what <shmem.h> compiles into programs takes about as many instructions as the layer's own
inlined functions, counted by valgrind's callgrind on one PE. Skipped where valgrind is not installed."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

from jobs import LIMIT_S, Jobs, main

CALLS = 1000
MOST = 1.1  # of the layer's
# Each operation as a function of its own, by OpenSHMEM and by the layer: to and from memory of the heap, to PE 0.
PROGRAM = r"""
#include <shmemx.h>
#include <stdio.h>
#define APART __attribute__((noipa))
typedef uint64_t word_t;
APART void client_put(void *to, const void *from, size_t length) { shmem_putmem(to, from, length, 0); }
APART void layer_put(word_t to, const void *from, size_t length) { ompl_put((uintptr_t)from, 0, to, length); }
APART void client_get(void *to, const void *from, size_t length) { shmem_getmem(to, from, length, 0); }
APART void layer_get(void *to, word_t from, size_t length) { ompl_get((uintptr_t)to, 0, from, length); }
APART word_t client_add(word_t *word) { return shmem_uint64_atomic_fetch_add(word, 1, 0); }
APART word_t layer_add(word_t word) {
  word_t before = 0;
  ompl_fetch_add64(0, word, 1, &before);
  return before;
}
int main(void) {
  shmem_init();
  word_t own = 0, *at = shmem_calloc(2, sizeof *at);
  const word_t offset = shmemx_offset(at);
  for (int i = 0; i < CALLS; ++i) {
    own = (word_t)i;
    client_put(at, &own, sizeof own);
    layer_put(offset, &own, sizeof own);
    client_get(&own, at, sizeof own);
    layer_get(&own, offset, sizeof own);
    if (own != (word_t)i) return 1;
    if (layer_add(offset + 8) != client_add(at + 1) - 1) return 2;
  }
  shmem_finalize();
  return 0;
}
"""
FUNCTION = re.compile(r"(c?)fn=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"[-+*\d]\S* (\d+)$")


def own_costs(text: str) -> Counter[str]:
    """Instructions of each function of a callgrind file, without those of the functions it calls."""
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    function = ""
    of_callee = False
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            name = names.setdefault(match[2], match[3] or "")
            function = function if match[1] else name
        elif line.startswith("calls="):
            of_callee = True
        elif match := COST.match(line):
            costs[function] += 0 if of_callee else int(match[1])
            of_callee = False
    return costs


class Instructions(Jobs):
    def test_small_operations_take_as_many_as_those_of_the_layer(self) -> None:
        program = self.compile(PROGRAM, "-O2", f"-DCALLS={CALLS}")
        out = self.folder / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program],
            env=os.environ | {"OMPL_CONDUITS": "self,shm", "OMPL_SEGMENT_SIZE": "64M", "SHMEM_SYMMETRIC_SIZE": "1M"},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        costs = own_costs(out.read_text())
        for name in ("put", "get", "add"):
            with self.subTest(name):
                mine, layer = (costs[f"{who}_{name}"] / CALLS for who in ("client", "layer"))
                print(f"{name}: {mine:.1f} instructions, {layer:.1f} of the layer's", flush=True)
                self.assertGreater(layer, 5)  # the function was found
                self.assertLessEqual(mine, MOST * layer)


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(77)
    main()

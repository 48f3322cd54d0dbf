# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace of an OpenSHMEM program: what is recorded, also of what <shmem.h> compiles into programs, and what
it is predicted to take."""

import json
from collections import Counter
from pathlib import Path

import commands
import pytest
from commands import BUILD, predict

ROUNDS = 5
# PE 0 writes, and PE 1 waits for a signal, then reads; each puts its number into the other's memory in each round.
PROGRAM = r"""
#include <shmem.h>
static char there[4000], here[4000];
static uint64_t told, sum;
static long box;
int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), other = 1 - me;
  for (int i = 0; i < ROUNDS; ++i) {
    if (me == 0) {
      shmem_putmem(there, here, 1000, other);
      shmem_putmem(there, here, 2000, other);
      shmem_putmem_signal(there, here, 100, &told, 1, SHMEM_SIGNAL_ADD, other);
    } else {
      shmem_signal_wait_until(&told, SHMEM_CMP_GE, (uint64_t)i + 1);
      shmem_getmem(here, there, 300, other);
      if (shmem_uint64_atomic_fetch_add(&sum, 2, other) != 2 * (uint64_t)i) return 1;
    }
    shmem_long_p(&box, i, other);
    shmem_quiet();
    shmem_barrier_all();
    if (box != i) return 2;
  }
  shmem_finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("traced")
    (made / "program.c").write_text(PROGRAM)
    commands.run(
        BUILD / "bin/oshcc", "-O2", f"-DROUNDS={ROUNDS}", made / "program.c", "-o", made / "program", check=True
    )
    launch = (BUILD / "bin/oshrun", "-n", "2", made / "program")
    done = commands.omni("model", "trace", "-o", made / "out", "--", *launch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    return made / "out"


def test_each_operation_is_recorded(folder: Path) -> None:
    said = commands.run(BUILD / "bin/ompl_trace_dump", folder, check=True).stdout
    calls = [line for line in map(json.loads, said.splitlines()) if "call" in line]
    moved = ("OmplPut", "OmplGet", "OmplAtomic", "OmplSignal")
    found = Counter((line["rank"], line["call"], line["bytes"]) for line in calls if line["call"] in moved)
    for rank, call, length in (
        (0, "OmplPut", 1000), (0, "OmplPut", 2000), (0, "OmplPut", 100), (0, "OmplPut", 8),
        (1, "OmplGet", 300), (1, "OmplAtomic", 8), (1, "OmplPut", 8),
    ):  # fmt: skip
        assert found[rank, call, length] == ROUNDS, found
    barriers = Counter(line["rank"] for line in calls if line["call"] == "OmplBarrier")
    assert min(barriers[0], barriers[1]) >= ROUNDS


def test_it_is_predicted_with_its_messages(folder: Path) -> None:
    found = predict(folder)
    assert found["unmatched_count"] == 0
    assert found["messages"] >= 8 * ROUNDS

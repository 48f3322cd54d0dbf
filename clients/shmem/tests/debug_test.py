#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""debug_test.py BUILD: programs with an error each, which SHMEM_DEBUG finds and names the place of."""

from jobs import Jobs, main

SPLIT = "shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);"
PROGRAM = r"""
#include <shmem.h>
#include <stdlib.h>
static long from[64], to[64], work[SHMEM_SYNC_SIZE];
static void misuse(int me, int pes) {
  long on_stack[4] = {0};
  long *block = shmem_malloc(10 * sizeof *block);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  (void)me, (void)pes, (void)on_stack, (void)team, (void)from, (void)to;
  %s
  shmem_free(block);
}
int main(void) {
  shmem_init();
  for (int i = 0; i < SHMEM_SYNC_SIZE; ++i) work[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  misuse(shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}
"""

# What is in place of %s, and what is to be said of it.
ERRORS = {
    "put to a PE that is none": ("shmem_long_p(to, 1, pes);", r"shmem_long_p: .*\b2\b.*misuse, program\.c:10"),
    "put to a local address": ("shmem_long_p(on_stack, 1, 0);", r"shmem_long_p: .* no symmetric.*program\.c:10"),
    "put after free": (
        "shmem_free(block); shmem_long_p(block, 1, 0); block = NULL;",
        r"shmem_long_p: .* was freed, or never allocated.*program\.c:10",
    ),
    "put over the end of a block": (
        "shmem_long_put(block + 1, from, 64, 0);",
        r"shmem_long_put: .*512 bytes: that leaves its block, which has \d+ bytes from there on.*program\.c:10",
    ),
    "strided put over the end": ("shmem_long_iput(block, from, 8, 1, 9, 0);", r"shmem_long_iput: .*leaves its block"),
    "atomic after free": (
        "shmem_free(block); shmem_atomic_inc(block, 0); block = NULL;",
        r"shmem_long_atomic_inc: .*was freed",
    ),
    "wait after free": (
        "shmem_free(block); shmem_wait_until(block, SHMEM_CMP_EQ, 7L); block = NULL;",
        r"shmem_long_wait_until: .*was freed",
    ),
    "copy that overlaps": ("shmem_long_put(to, to + 1, 8, me);", r"shmem_long_put: dest, 64 bytes .* overlap"),
    "reduction that overlaps": (
        "shmem_sum_reduce(SHMEM_TEAM_WORLD, to, to + 1, 8);",
        r"a reduction: dest, 64 bytes .* overlap.*program\.c:10",
    ),
    "reduction of local memory": (
        "shmem_sum_reduce(SHMEM_TEAM_WORLD, on_stack, from, 4);",
        r"a reduction: .* no symmetric address",
    ),
    "different collectives": (
        "if (me == 0) shmem_barrier_all(); else shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 3, 1);",
        r"PE 1 calls shmem_broadcast\(.*24, 1.*PE 0 shmem_barrier|PE 0 calls shmem_barrier_all.*PE 1 shmem_broadcast",
    ),
    "different lengths": (
        "shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 2 + (size_t)me);",
        r"shmem_fcollect: PEs call different functions, or with different arguments: PE \d calls shmem_fcollect",
    ),
    "different roots": (
        "shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 2, me);",
        r"shmem_broadcast: PEs call different functions, or with different arguments",
    ),
    "different operations": (
        "if (me == 0) shmem_sum_reduce(SHMEM_TEAM_WORLD, to, from, 2);"
        "else shmem_max_reduce(SHMEM_TEAM_WORLD, to, from, 2);",
        r"a reduction: PEs call different functions, or with different arguments",
    ),
    "different places": (
        "shmem_fcollect(SHMEM_TEAM_WORLD, to + me, from, 2);",
        r"shmem_fcollect: PEs call different functions, or with different arguments: .*dest at",
    ),
    "allocation of different sizes": (
        "free(shmem_malloc(100 + (size_t)me) == NULL ? NULL : NULL);",
        r"shmem_malloc: PEs call different functions.*PE \d calls shmem_malloc\(10[01], 64",
    ),
    "allocation and barrier": (
        "if (me == 0) shmem_barrier_all(); else block = shmem_malloc(9);",
        r"different functions.*(shmem_malloc.*shmem_barrier_all|shmem_barrier_all.*shmem_malloc)",
    ),
    "active set without the caller": (
        "if (me == 0) shmem_barrier(1, 0, 1, work);",
        r"shmem_barrier: PE 0, which calls it, is not in the active set \(1, 0, 1\).*program\.c:10",
    ),
    "active set beyond the PEs": ("shmem_barrier(0, 1, pes, work);", r"shmem_barrier: the active set .* has a PE 2"),
    "team that was destroyed": (
        f"{SPLIT} shmem_team_destroy(team); shmem_team_sync(team);",
        r"the team was destroyed before",
    ),
    "lock that is not set": ("shmem_clear_lock(to);", r"shmem_clear_lock: this PE has not set the lock"),
}


class Debug(Jobs):
    def test_each_error_is_told_with_its_place(self) -> None:
        for name, (code, pattern) in ERRORS.items():
            with self.subTest(name):
                self.fails(self.compile(PROGRAM % code, "-g", "-O0"), pattern, SHMEM_DEBUG="1")

    def test_right_calls_are_no_error(self) -> None:
        right = """
  for (int i = 0; i < 64; ++i) from[i] = i;
  shmem_long_put(to, from, 64, (me + 1) % pes);
  shmem_long_put(to, to, 64, (me + 1) % pes);
  shmem_long_iput(block, from, 3, 1, 4, 0);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, to, to, 64);
  shmem_collect(SHMEM_TEAM_WORLD, to, from, 1 + (size_t)me);
  shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 2, 1, 3);
  shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 0);
  shmem_barrier(0, 0, pes, work);
  block = shmem_realloc(block, 4000);
  shmem_long_p(block + 499, 1, 0);
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
  shmem_team_sync(team);
  shmem_team_destroy(team);
"""
        self.succeeds(self.compile(PROGRAM % right), SHMEM_DEBUG="1")

    def test_without_debug_information_the_function_is_named(self) -> None:
        stripped = PROGRAM.replace("static void misuse", "void misuse(int, int);\nvoid misuse")
        stripped %= "shmem_long_p(on_stack, 1, 0);"
        program = self.compile(stripped, "-O0", "-s", "-rdynamic")
        pattern = r"no symmetric address.*; called in misuse\+0x[0-9a-f]+ in \S*program"
        self.fails(program, pattern)
        self.fails(program, pattern, SHMEM_DEBUG="1")


if __name__ == "__main__":
    main()

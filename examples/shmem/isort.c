/* SPDX-License-Identifier: BSD-3-Clause
 * isort.c: integers are sorted by buckets: each PE sends every other one the keys of that one's range, all to all.
 *
 *     oshcc -O2 isort.c -o isort && oshrun -n 4 ./isort
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kKeys = 20000, kMost = 1 << 20 }; /* keys of a PE; they are below kMost */
static long total, mine, before, counted;

static int by_value(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  const int width = (kMost + pes - 1) / pes; /* of a range */
  int* keys = malloc(kKeys * sizeof *keys);
  long *counts = shmem_calloc((size_t)pes, sizeof *counts),
       *come = shmem_calloc((size_t)pes, sizeof *come);
  int *sent = shmem_malloc((size_t)pes * kKeys * sizeof *sent),
      *got = shmem_malloc((size_t)pes * kKeys * sizeof *got);
  if (keys == NULL || counts == NULL || come == NULL || sent == NULL || got == NULL)
    shmem_global_exit(1);
  unsigned state = 12345u + (unsigned)me;
  for (int i = 0; i < kKeys; ++i) {
    state = state * 1664525u + 1013904223u;
    keys[i] = (int)(state >> 12);
    const int to = keys[i] / width;
    sent[(size_t)to * kKeys + (size_t)counts[to]++] = keys[i];
  }
  shmem_alltoall(SHMEM_TEAM_WORLD, come, counts, 1);
  shmem_alltoall(SHMEM_TEAM_WORLD, got, sent, kKeys);
  mine = 0;
  for (int pe = 0; pe < pes; ++pe) {
    memmove(got + mine, got + (size_t)pe * kKeys, (size_t)come[pe] * sizeof *got);
    mine += come[pe];
  }
  qsort(got, (size_t)mine, sizeof *got, by_value);
  int wrong = 0;
  for (long i = 0; i < mine; ++i)
    if (got[i] / width != me || (i > 0 && got[i - 1] > got[i])) wrong = 1;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);
  shmem_sum_exscan(SHMEM_TEAM_WORLD, &before, &mine,
                   1); /* the place of this PE's first key among all */
  counted = before + mine;
  if (me == pes - 1 && counted != (long)pes * kKeys) wrong = 2;
  if (total != (long)pes * kKeys) wrong = 3;
  if (me == 0) printf("%ld keys are sorted\n", total);
  if (wrong != 0) shmem_global_exit(wrong);
  shmem_finalize();
  return 0;
}

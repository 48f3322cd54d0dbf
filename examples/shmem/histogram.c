/* SPDX-License-Identifier: BSD-3-Clause
 * histogram.c: all PEs count numbers in one table that is spread over them, by atomics.
 *
 *     oshcc -O2 histogram.c -o histogram && oshrun -n 4 ./histogram
 */
#include <shmem.h>
#include <stdio.h>

enum { kBins = 256, kNumbers = 20000 }; /* of a PE */
static long bins[kBins], counted, sum, first, fetched;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  unsigned state = 1u + (unsigned)me;
  for (int i = 0; i < kNumbers; ++i) {
    state = state * 1664525u + 1013904223u;
    const int bin = (int)(state >> 8) % (kBins * pes);
    if (i % 2 == 0)
      shmem_atomic_inc(&bins[bin / pes], bin % pes);
    else
      shmem_atomic_fetch_add_nbi(&fetched, &bins[bin / pes], 1L, bin % pes);
  }
  shmem_barrier_all(); /* completes them all */
  for (int i = 0; i < kBins; ++i) counted += bins[i];
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &counted, 1);
  first = shmem_g(&bins[0], 0);
  if (me == 0) printf("%ld numbers are counted, %ld in the first bin\n", sum, first);
  shmem_finalize();
  return sum != (long)pes * kNumbers;
}

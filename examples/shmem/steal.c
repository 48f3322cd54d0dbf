/* SPDX-License-Identifier: BSD-3-Clause
 * steal.c: tasks lie at few PEs; a PE that has none left steals half of those of another one. A word on each PE holds the range of
 * tasks that are left there, so that one compare-and-swap takes some.
 *
 *     oshcc -O2 steal.c -o steal && oshrun -n 4 ./steal
 */
#include <shmem.h>
#include <stdio.h>

enum { kTasks = 4000 }; /* of PE 0, for all */
static uint64_t left;   /* begin in the low half, end in the high half */
static long done_here, done, sum_here, sum;

static uint64_t range(uint64_t begin, uint64_t end) { return begin | end << 32; }
static uint64_t begin_of(uint64_t range) { return range & 0xffffffffu; }
static uint64_t end_of(uint64_t range) { return range >> 32; }

static void work(uint64_t task) {
  volatile double x = 1;
  for (uint64_t i = 0; i < task % 100; ++i) x = x * 1.0000001 + 1;
  ++done_here;
  sum_here += (long)task;
}

/* Takes one of the own tasks; 0: there are none. */
static int run_one(int me) {
  for (;;) {
    const uint64_t now = shmem_atomic_fetch(&left, me);
    if (begin_of(now) == end_of(now)) return 0;
    const uint64_t after = range(begin_of(now) + 1, end_of(now));
    if (shmem_atomic_compare_swap(&left, now, after, me) != now) continue; /* a thief was faster */
    work(begin_of(now));
    return 1;
  }
}

/* Takes the upper half of another PE's; 0: it has less than two. */
static int steal(int from, int me) {
  const uint64_t now = shmem_atomic_fetch(&left, from), count = end_of(now) - begin_of(now);
  if (count < 2) return 0;
  const uint64_t middle = end_of(now) - count / 2;
  if (shmem_atomic_compare_swap(&left, now, range(begin_of(now), middle), from) != now)
    return 1; /* look again */
  shmem_atomic_set(&left, range(middle, end_of(now)), me);
  return 1;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  left = me == 0 ? range(0, kTasks) : 0;
  shmem_barrier_all();
  for (int idle = 0; idle < pes;) {
    while (run_one(me)) idle = 0;
    for (idle = 0; idle < pes; ++idle)
      if (idle != me && steal(idle, me)) break;
  }
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &done, &done_here, 1);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &sum_here, 1);
  printf("PE %d did %ld of %ld tasks\n", me, done_here, done);
  shmem_finalize();
  return done != kTasks || sum != (long)kTasks * (kTasks - 1) / 2;
}

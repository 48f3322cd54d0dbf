/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of an OpenSHMEM library, 1.4 or later, for times.py: a line "NAME NANOSECONDS" for each operation, by PE 0. The argument:
 * seconds for each. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kWords = 512, kTrials = 20, kMost = 200000 };
#define ENOUGH(least) ((least) > kWords ? (least) : kWords)
/* Two of each, in turn, since a PE may begin a reduction before the others have ended the last one. */
static long sync_words[2][SHMEM_REDUCE_SYNC_SIZE];
static long work_words[2][ENOUGH(SHMEM_REDUCE_MIN_WRKDATA_SIZE)];
static long source[kWords], sum[kWords], own[kWords], box;
static int me, pes, chosen;
static unsigned turn;
static long rounds;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void barrier(void) { shmem_barrier_all(); }
static void reduce(int count) {
  const unsigned which = turn++ % 2;
  shmem_long_sum_to_all(sum, source, count, 0, 0, pes, work_words[which], sync_words[which]);
}
static void reduce_1(void) { reduce(1); }
static void reduce_512(void) { reduce(kWords); }
/* Between PEs 0 and 1, there and back. */
static void round_trip(void) {
  ++rounds;
  if (me == 0) shmem_long_p(&box, rounds, 1);
  if (me <= 1) shmem_long_wait_until(&box, SHMEM_CMP_EQ, rounds);
  if (me == 1) shmem_long_p(&box, rounds, 0);
}
/* By PE 0. */
static void get_8(void) {
  if (me == 0) own[0] = shmem_long_g(&source[0], 1);
}
static void get_4096(void) {
  if (me == 0) shmem_long_get(own, source, kWords, 1);
}
static void put_8_quiet(void) {
  if (me != 0) return;
  shmem_long_p(&sum[0], 1, 1);
  shmem_quiet();
}
static void put_4096_quiet(void) {
  if (me != 0) return;
  shmem_long_put(sum, own, kWords, 1);
  shmem_quiet();
}
static void fetch_add(void) {
  if (me == 0) own[0] = shmem_long_atomic_fetch_add(&sum[1], 1, 1);
}

/* Nanoseconds of a call; all PEs make as many. */
static double repeat(void (*call)(void), int count) {
  shmem_barrier_all();
  const double begin = now_ns();
  for (int i = 0; i < count; ++i) call();
  return (now_ns() - begin) / count;
}

static void measure(const char* name, void (*call)(void), double part, double seconds) {
  const double trial = repeat(call, kTrials);
  if (me == 0) {
    const double wanted = seconds * 1e9 / trial;
    const int count = wanted < kTrials ? kTrials : wanted > kMost ? kMost : (int)wanted;
    for (int pe = 0; pe < pes; ++pe) shmem_int_p(&chosen, count, pe);
  }
  shmem_barrier_all();
  const double each = repeat(call, chosen);
  if (me == 0) printf("%s %.1f\n", name, each * part);
}

int main(int count, char** arguments) {
  const double seconds = count > 1 ? atof(arguments[1]) : 0.1;
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  for (int i = 0; i < 2 * SHMEM_REDUCE_SYNC_SIZE; ++i) sync_words[i % 2][i / 2] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < kWords; ++i) source[i] = me + i;
  shmem_barrier_all();
  measure("barrier", barrier, 1, seconds);
  measure("reduction_8_B", reduce_1, 1, seconds);
  measure("reduction_4096_B", reduce_512, 1, seconds);
  const int wrong = sum[3] != (long)pes * 3 + (long)pes * (pes - 1) / 2;
  if (pes > 1) {
    measure("put_and_wait_8_B", round_trip, 0.5, seconds);
    measure("put_and_quiet_8_B", put_8_quiet, 1, seconds);
    measure("put_and_quiet_4096_B", put_4096_quiet, 1, seconds);
    measure("get_8_B", get_8, 1, seconds);
    measure("get_4096_B", get_4096, 1, seconds);
    measure("fetch_add", fetch_add, 1, seconds);
  }
  shmem_barrier_all();
  shmem_finalize();
  return wrong;
}

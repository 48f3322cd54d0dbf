/* SPDX-License-Identifier: BSD-3-Clause */
/* What memory gives to several cores that read at once, each its own array: bandwidth CORES MIB, bytes per second. */
#define _GNU_SOURCE  // NOLINT(bugprone-reserved-identifier)
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { passes = 8, lanes = 16, most_cores = 1024, huge_page = 2 << 20 };

static pthread_barrier_t all;
static size_t length; /* of each array */

static int allowed_core(int number) {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET((size_t)core, &cores) && number-- == 0) return core;
  return -1;
}

static double sum_of(const double* values) {
  double sums[lanes] = {0};
  for (size_t i = 0; i < length; i += lanes)
    for (int k = 0; k < lanes; ++k) sums[k] += values[i + (size_t)k];
  double sum = 0;
  for (int k = 0; k < lanes; ++k) sum += sums[k];
  return sum;
}

static void* reader(void* core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t) * (const int*)core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  double* values = aligned_alloc(huge_page, length * sizeof *values);
  if (values != NULL) madvise(values, length * sizeof *values, MADV_HUGEPAGE); /* as the solver's */
  for (size_t i = 0; values != NULL && i < length; ++i) values[i] = 1;
  pthread_barrier_wait(&all);
  double sum = 0;
  for (int pass = 0; values != NULL && pass < passes; ++pass) sum += sum_of(values);
  pthread_barrier_wait(&all);
  free(values);
  return sum == (double)(passes * length) ? NULL : core;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const int cores = argc == 3 ? atoi(argv[1]) : 0;
  const long mib = argc == 3 ? atol(argv[2]) : 0;
  if (cores < 1 || cores > most_cores || mib < 2 || mib % 2 != 0 || allowed_core(cores - 1) < 0) {
    fprintf(stderr, "usage: bandwidth CORES MIB; no more cores than there are, MIB even\n");
    return 2;
  }
  length = (size_t)mib * ((1U << 20U) / sizeof(double));
  pthread_barrier_init(&all, NULL, (unsigned)cores + 1);
  pthread_t threads[most_cores];
  int places[most_cores];
  for (int i = 0; i < cores; ++i) {
    places[i] = allowed_core(i);
    if (pthread_create(&threads[i], NULL, reader, &places[i]) != 0) return 1;
  }
  pthread_barrier_wait(&all);
  const double start = now();
  pthread_barrier_wait(&all);
  const double seconds = now() - start;
  for (int i = 0; i < cores; ++i) {
    void* failed;
    pthread_join(threads[i], &failed);
    if (failed != NULL) {
      fprintf(stderr, "bandwidth: not enough memory; take fewer MiB\n");
      return 1;
    }
  }
  printf("%.6g\n", (double)cores * passes * (double)length * sizeof(double) / seconds);
  return 0;
}

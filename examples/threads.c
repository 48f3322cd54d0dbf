/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: thread i of rank 0 plays ping-pong with thread i of rank 1, all at once, and no thread knows of
 * the others. Nothing is set up for it: any thread may call, and each has its own order of operations. All
 * a pair of threads shares is where its message and its flag stand.
 *
 *   omplrun -n 2 ./threads [threads [iterations]]
 */
#include <pthread.h>

#include "require.h"

struct pair {
  pthread_t thread;
  uint64_t message_addr, flag_addr; /* the same offsets on both ranks */
  unsigned iterations, wrong;
};

/* Sends i and receives i (rank 0), or receives i and sends it back (rank 1). */
static void* play(void* arg) {
  struct pair* pair = arg;
  const uint32_t rank = (uint32_t)ompl_rank(), partner = 1 - rank;
  const volatile unsigned* inbox = ompl_ptr(rank, pair->message_addr);
  for (unsigned i = 1; i <= pair->iterations; ++i) {
    if (rank == 1) {
      require(ompl_wait(pair->flag_addr), "ompl_wait");
      pair->wrong += *inbox != i;
    }
    require(ompl_put_signal((uint64_t)(uintptr_t)&i, partner, pair->message_addr, sizeof i,
                            pair->flag_addr),
            "ompl_put_signal");
    if (rank == 0) {
      require(ompl_wait(pair->flag_addr), "ompl_wait");
      pair->wrong += *inbox != i;
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4;
  const unsigned iterations = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
  unsigned wrong = 0;

  require(ompl_init(), "ompl_init");
  if (ompl_size() != 2 || threads == 0) {
    fprintf(stderr, "threads needs two ranks and a thread: omplrun -n 2 ./threads 4\n");
    return EXIT_FAILURE;
  }
  struct pair* pairs = calloc(threads, sizeof *pairs);
  if (pairs == NULL) return EXIT_FAILURE;

  for (unsigned i = 0; i < threads; ++i) { /* collective calls: one thread, the same order everywhere */
    pairs[i].iterations = iterations;
    require(ompl_alloc(sizeof(unsigned), &pairs[i].message_addr), "ompl_alloc");
    require(ompl_alloc(sizeof(uint32_t), &pairs[i].flag_addr), "ompl_alloc");
  }
  for (unsigned i = 0; i < threads; ++i)
    if (pthread_create(&pairs[i].thread, NULL, play, &pairs[i]) != 0) return EXIT_FAILURE;
  for (unsigned i = 0; i < threads; ++i) {
    pthread_join(pairs[i].thread, NULL);
    wrong += pairs[i].wrong;
  }
  if (ompl_rank() == 0)
    printf("%u threads, %u round trips each, %u wrong\n", threads, iterations, wrong);
  free(pairs);
  require(ompl_finalize(), "ompl_finalize");
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

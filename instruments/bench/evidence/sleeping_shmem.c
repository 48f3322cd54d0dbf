// SPDX-License-Identifier: BSD-3-Clause
/* Threads of PE 0 put to PE 1, which sleeps outside the library, each through a context of its own, and call shmem_ctx_quiet, after
 * which the words are there (OpenSHMEM 1.4, section 9.10.2). Says how long that took. Without code of this project.
 *
 *   oshcc -pthread sleeping_shmem.c -o sleeping_shmem
 *   oshrun -n 2 --oversubscribe --bind-to none sleeping_shmem THREADS SECONDS   exit status 1 where a put waited for the target
 *
 * Open MPI 4.1.4 of Debian 12, two busy cores, 0.5 s, 12 runs each: none waited with 1 and 2 threads, 5 with 4 threads. They are then
 * in shmem_ctx_putmem, the first of their context: its connection is made with the help of the target.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PUTS = 100000 }; /* of each thread: a word, and then a flag */

static struct part {
  shmem_ctx_t context;
  uint64_t* memory; /* symmetric */
  double took;
} parts[64];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void* put(void* given) {
  struct part* part = given;
  const double begin = now();
  for (uint64_t i = 0; i < PUTS; ++i) {
    shmem_ctx_putmem(part->context, part->memory + 1, &i, sizeof i, 1);
    shmem_ctx_fence(part->context);
    shmem_ctx_uint64_p(part->context, part->memory, i, 1);
  }
  shmem_ctx_quiet(part->context);
  part->took = now() - begin;
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? atof(argv[2]) : 2;
  static double took; /* symmetric */
  int granted = 0;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted) != 0 || granted < SHMEM_THREAD_MULTIPLE)
    return 2;
  if (threads < 1 || threads > 64 || shmem_n_pes() != 2) return 2;
  for (int i = 0; i < threads; ++i) {
    if (shmem_ctx_create(0, &parts[i].context) != 0) return 2;
    parts[i].memory = shmem_calloc(2, sizeof(uint64_t));
  }
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    pthread_t each[64];
    for (int i = 0; i < threads; ++i) pthread_create(&each[i], NULL, put, &parts[i]);
    for (int i = 0; i < threads; ++i) pthread_join(each[i], NULL);
    for (int i = 0; i < threads; ++i) took = parts[i].took > took ? parts[i].took : took;
    shmem_double_put(&took, &took, 1, 1);
  } else {
    const struct timespec sleep = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&sleep, NULL);
  }
  shmem_barrier_all();
  if (shmem_my_pe() == 1) {
    printf("%d puts by %d threads were complete after %.3f s; the target slept %.3f s\n",
           threads * PUTS, threads, took, seconds);
    fflush(stdout);
  }
  shmem_barrier_all();
  shmem_global_exit(
      took >= seconds); /* shmem_finalize of Open MPI 4.1.4 crashes, in a hook of memory that is gone */
  return 0;
}

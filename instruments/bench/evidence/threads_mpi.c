// SPDX-License-Identifier: BSD-3-Clause
/* Thread i of rank 0 and thread i of rank 1 send a long message back and forth: a put, a flush, a put of a flag, a flush; the target looks at
 * its memory and calls MPI_Iprobe. Says how long that took, or after how many rounds no thread went on. Without code of this project.
 *
 *   mpicc -pthread threads_mpi.c -o threads_mpi
 *   mpiexec -n 2 threads_mpi THREADS BYTES ROUNDS SECONDS   exit status 1 if no thread finished a round within SECONDS
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct part { /* of a thread of either rank */
  MPI_Comm comm;
  MPI_Win window;
  char* memory; /* the target, the source, a page with the flag */
  int done;     /* rounds */
} parts[64];
static int threads = 4, rounds = 100, rank;
static long bytes = 1 << 20;

static void put(struct part* part, const void* from, long to, long count) {
  MPI_Put(from, (int)count, MPI_BYTE, 1 - rank, to, (int)count, MPI_BYTE, part->window);
  MPI_Win_flush(1 - rank, part->window);
}

static void take(const struct part* part, int wanted) {
  int found;
  while (__atomic_load_n((int*)(part->memory + 2 * bytes), __ATOMIC_ACQUIRE) < wanted) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, part->comm, &found, MPI_STATUS_IGNORE);
    MPI_Win_sync(part->window);
    sched_yield();
  }
}

static void* play(void* given) {
  struct part* part = given;
  for (int round = 1; round <= rounds; ++round) {
    if (rank == 1) take(part, round);
    put(part, part->memory + bytes, 0, bytes);
    put(part, &round, 2 * bytes, sizeof round);
    if (rank == 0) take(part, round);
    __atomic_store_n(&part->done, round, __ATOMIC_RELAXED);
  }
  return NULL;
}

static long all_rounds(void) {
  long all = 0;
  for (int i = 0; i < threads; ++i) all += __atomic_load_n(&parts[i].done, __ATOMIC_RELAXED);
  return all;
}

int main(int argc, char** argv) {
  if (argc > 1) threads = atoi(argv[1]);
  if (argc > 2) bytes = atol(argv[2]);
  if (argc > 3) rounds = atoi(argv[3]);
  const int seconds = argc > 4 ? atoi(argv[4]) : 20;
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (granted < MPI_THREAD_MULTIPLE || threads < 1 || threads > 64 || bytes < 4) return 2;
  /* A window for each thread; the key is Intel MPI's, for its thread split. */
  for (int i = 0; i < threads; ++i) {
    char number[16];
    MPI_Info whose;
    MPI_Info_create(&whose);
    snprintf(number, sizeof number, "%d", i);
    MPI_Info_set(whose, "thread_id", number);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, whose, &parts[i].comm);
    MPI_Info_free(&whose);
    MPI_Win_allocate(2 * bytes + 4096, 1, MPI_INFO_NULL, parts[i].comm, &parts[i].memory,
                     &parts[i].window);
    for (long j = 0; j < 2 * bytes + 4096; ++j) parts[i].memory[j] = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, parts[i].window);
    MPI_Barrier(parts[i].comm);
  }
  pthread_t each[64];
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < threads; ++i) pthread_create(&each[i], NULL, play, &parts[i]);
  long last = -1;
  for (int idle = 0; all_rounds() < (long)threads * rounds; usleep(100000)) {
    idle = all_rounds() == last ? idle + 1 : 0;
    last = all_rounds();
    if (idle < 10 * seconds) continue;
    printf("rank %d: none of %d threads went on for %d s, after %ld of %ld rounds of %ld bytes\n", rank,
           threads, seconds, last, (long)threads * rounds, bytes);
    fflush(stdout);
    _exit(1);
  }
  for (int i = 0; i < threads; ++i) pthread_join(each[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double took =
      (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  printf("rank %d: %d threads played %d rounds of %ld bytes each in %.3f s\n", rank, threads, rounds,
         bytes, took);
  for (int i = 0; i < threads; ++i) {
    MPI_Win_unlock_all(parts[i].window);
    MPI_Win_free(&parts[i].window);
    MPI_Comm_free(&parts[i].comm);
  }
  MPI_Finalize();
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/* Threads of rank 0 put to rank 1, which sleeps outside MPI, and flush: after MPI_Win_flush a put is complete at the target, too
 * (MPI 4.1, section 12.5.4). Says how long that took, and what rank 1 found in its memory. Without code of this project.
 *
 *   mpicc -pthread sleeping_mpi.c -o sleeping_mpi
 *   mpiexec -n 2 sleeping_mpi THREADS SECONDS   exit status 1 where a put was not there, or waited for the target
 *
 * Intel MPI 2021.18, I_MPI_FABRICS=ofi, provider tcp, 2 threads, 2 s, with and without I_MPI_THREAD_SPLIT=1, three runs each:
 *   its own libfabric (LD_LIBRARY_PATH, as its vars.sh sets it)   the flushes wait for the target; nothing is missing after them
 *   libfabric 1.17 of Debian 12, found first without that         the flushes return within 5 ms, and half of the words or all are missing;
 *                                                                 with thread split one run still missed half of them at the end, one hung
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PUTS = 256 }; /* words of eight bytes a thread, one after the other */

static struct part { /* of a thread of either rank */
  MPI_Comm comm;
  MPI_Win window;
  uint64_t* memory;
  double took;
  uint64_t asleep, awake; /* words missing before rank 1 called MPI, and after the last flush */
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
    const uint64_t word = i + 1;
    MPI_Put(&word, 8, MPI_BYTE, 1, (MPI_Aint)(8 * i), 8, MPI_BYTE, part->window);
    MPI_Win_flush(1, part->window);
  }
  part->took = now() - begin;
  MPI_Send(&part->took, 1, MPI_DOUBLE, 1, 0, part->comm);
  return NULL;
}

static uint64_t missing(const struct part* part) {
  uint64_t count = 0;
  MPI_Win_sync(part->window);
  for (uint64_t i = 0; i < PUTS; ++i)
    count += __atomic_load_n(&part->memory[i], __ATOMIC_ACQUIRE) != i + 1;
  return count;
}

static void* look(void* given) {
  struct part* part = given;
  part->asleep = missing(part);
  MPI_Recv(&part->took, 1, MPI_DOUBLE, 0, 0, part->comm, MPI_STATUS_IGNORE);
  part->awake = missing(part);
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? atof(argv[2]) : 2;
  int granted = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (granted < MPI_THREAD_MULTIPLE || threads < 1 || threads > 64) return 2;
  /* A window for each thread; the key is Intel MPI's, for its thread split. */
  for (int i = 0; i < threads; ++i) {
    char number[16];
    MPI_Info whose;
    MPI_Info_create(&whose);
    snprintf(number, sizeof number, "%d", i);
    MPI_Info_set(whose, "thread_id", number);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, whose, &parts[i].comm);
    MPI_Info_free(&whose);
    MPI_Win_allocate(8 * PUTS, 1, MPI_INFO_NULL, parts[i].comm, &parts[i].memory, &parts[i].window);
    for (int j = 0; j < PUTS; ++j) parts[i].memory[j] = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, parts[i].window);
    MPI_Barrier(parts[i].comm);
  }
  if (rank == 1) {
    const struct timespec sleep = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&sleep, NULL);
  }
  pthread_t each[64];
  for (int i = 0; i < threads; ++i) pthread_create(&each[i], NULL, rank == 0 ? put : look, &parts[i]);
  for (int i = 0; i < threads; ++i) pthread_join(each[i], NULL);
  struct part all = {0};
  for (int i = 0; i < threads; ++i) {
    all.took = parts[i].took > all.took ? parts[i].took : all.took;
    all.asleep += parts[i].asleep;
    all.awake += parts[i].awake;
  }
  if (rank == 1) {
    printf("%d puts by %d threads were flushed after %.3f s; the target slept %.3f s\n", threads * PUTS,
           threads, all.took, seconds);
    printf("missing there before it called MPI: %llu, after the last flush: %llu\n",
           (unsigned long long)all.asleep, (unsigned long long)all.awake);
  }
  for (int i = 0; i < threads; ++i) {
    MPI_Win_unlock_all(parts[i].window);
    MPI_Win_free(&parts[i].window);
    MPI_Comm_free(&parts[i].comm);
  }
  MPI_Finalize();
  return rank == 1 && (all.took >= seconds || all.asleep > 0);
}

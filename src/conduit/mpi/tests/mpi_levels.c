/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_levels LEVEL END: two ranks of the mpi conduit, whose threads all want to communicate.
 *
 * LEVEL  single, funneled, serialized, multiple: what MPI is asked for. With the first two a second thread must be
 *        refused, and a progress thread; with serialized its calls of MPI are made under the lock
 * END    ompl, mpi: what is finalized first; after mpi the layer must refuse, not hang
 *
 * Exit status 77 if MPI grants another level, 3 after the first thing that is wrong. */
#include <mpi.h>
#include <omnipgas/ompl.h>
#include <omnipgas/ompl_ext.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRounds = 200, kLong = 65536, kWords = kLong / 8 };

static int g_rank, g_level;
static uint64_t g_data[2], g_flag[2]; /* of the main thread and of the other */

#define REQUIRE(truth) require((truth), #truth, __LINE__)

static void require(int truth, const char* what, int line) {
  if (truth) return;
  fprintf(stderr, "mpi_levels: rank %d, line %d: not so: %s; %s\n", g_rank, line, what,
          ompl_error_detail());
  _exit(3);
}

static uint64_t word(int rank, int thread, int round, size_t i) {
  return ((uint64_t)rank << 56 | (uint64_t)thread << 48 | (uint64_t)round << 32) ^
         (i * 0x9e3779b97f4a7c15U);
}

/* Both ranks put, then look; short and long messages in turn. */
static void exchange(int thread) {
  static uint64_t buffers[2][kWords];
  uint64_t* const buffer = buffers[thread];
  const uint32_t other = 1 - (uint32_t)g_rank;
  const volatile uint64_t* const inbox = ompl_ptr((uint32_t)g_rank, g_data[thread]);
  for (int round = 0; round < kRounds; ++round) {
    const size_t count = round % 2 == 0 ? 8 : kWords;
    for (size_t i = 0; i < count; ++i) buffer[i] = word(g_rank, thread, round, i);
    REQUIRE(ompl_put((uint64_t)(uintptr_t)buffer, other, g_data[thread], 8 * count) == OMPL_OK);
    REQUIRE(ompl_put_word(other, g_flag[thread]) == OMPL_OK);
    REQUIRE(ompl_wait(g_flag[thread]) == OMPL_OK);
    for (size_t i = 0; i < count; ++i) REQUIRE(inbox[i] == word((int)other, thread, round, i));
    REQUIRE(ompl_put_word(other, g_flag[thread] + 4) == OMPL_OK); /* looked at */
    REQUIRE(ompl_wait(g_flag[thread] + 4) == OMPL_OK);
  }
}

/* The program's own use of MPI, as far as its level allows. */
static void* talk_by_mpi(void* argument) {
  (void)argument;
  for (int round = 0; round < kRounds; ++round) {
    int sent = 1000 * g_rank + round, received = -1, done = 0;
    MPI_Status statuses[2];
    MPI_Request requests[2];
    REQUIRE(ompl_mpi_lock() == OMPL_OK);
    MPI_Irecv(&received, 1, MPI_INT, 1 - g_rank, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, 1 - g_rank, 7, MPI_COMM_WORLD, &requests[1]);
    REQUIRE(ompl_mpi_unlock() == OMPL_OK);
    while (!done) { /* the other rank may need the layer to go on: not one long call */
      REQUIRE(ompl_mpi_lock() == OMPL_OK);
      MPI_Testall(2, requests, &done, statuses);
      REQUIRE(ompl_mpi_unlock() == OMPL_OK);
      usleep(10);
    }
    REQUIRE(received == 1000 * (1 - g_rank) + round);
  }
  return NULL;
}

static void* second_thread(void* argument) {
  (void)argument;
  if (g_level >= MPI_THREAD_SERIALIZED) {
    exchange(1);
    return NULL;
  }
  uint64_t value = 1;
  const uint64_t address = (uint64_t)(uintptr_t)&value;
  const uint32_t other = 1 - (uint32_t)g_rank;
  REQUIRE(ompl_put(address, other, g_data[1], 8) == OMPL_ERR_STATE);
  REQUIRE(strstr(ompl_error_detail(), "MPI_THREAD_MULTIPLE") != NULL);
  REQUIRE(ompl_get(address, other, g_data[1], 8) == OMPL_ERR_STATE);
  REQUIRE(ompl_put_word(other, g_flag[1]) == OMPL_ERR_STATE);
  REQUIRE(ompl_wait(g_flag[1]) == OMPL_ERR_STATE);
  REQUIRE(strstr(ompl_error_detail(), "MPI_THREAD_MULTIPLE") != NULL);
  puts("the second thread was refused");
  return NULL;
}

/* No call of the layer while the lock is held. */
static void break_the_rule(void) {
  uint64_t value = 1;
  REQUIRE(ompl_mpi_lock() == OMPL_OK);
  REQUIRE(ompl_put((uint64_t)(uintptr_t)&value, 1 - (uint32_t)g_rank, g_data[0], 8) == OMPL_ERR_STATE);
  REQUIRE(strstr(ompl_error_detail(), "ompl_mpi_lock") != NULL);
  REQUIRE(ompl_mpi_unlock() == OMPL_OK);
}

/* Beside a progress thread, where MPI lets it. */
static void ask_for_progress_thread(void) {
  if (g_level >= MPI_THREAD_SERIALIZED) {
    REQUIRE(ompl_set_progress_thread(1) == OMPL_OK);
    REQUIRE(ompl_progress_thread() == 1);
    exchange(0);
    REQUIRE(ompl_set_progress_thread(0) == OMPL_OK);
  } else {
    REQUIRE(ompl_set_progress_thread(1) == OMPL_ERR_UNSUPPORTED);
    REQUIRE(strstr(ompl_error_detail(), "MPI_THREAD_MULTIPLE") != NULL);
  }
  REQUIRE(ompl_progress_thread() == 0);
}

static int level_of(const char* name) {
  if (strcmp(name, "single") == 0) return MPI_THREAD_SINGLE;
  if (strcmp(name, "funneled") == 0) return MPI_THREAD_FUNNELED;
  return strcmp(name, "serialized") == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

static void end_mpi_first(void) {
  uint64_t value = 1;
  REQUIRE(MPI_Finalize() == MPI_SUCCESS);
  REQUIRE(ompl_put((uint64_t)(uintptr_t)&value, 1 - (uint32_t)g_rank, g_data[0], 8) == OMPL_ERR_LINK);
  REQUIRE(strstr(ompl_error_detail(), "MPI was finalized before ompl_finalize") != NULL);
  REQUIRE(ompl_wait(g_flag[0]) == OMPL_ERR_LINK);
  REQUIRE(ompl_finalize() == OMPL_ERR_LINK);
  puts("the layer was refused");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int wanted = level_of(argv[1]);
  REQUIRE(MPI_Init_thread(&argc, &argv, wanted, &g_level) == MPI_SUCCESS);
  if (g_level != wanted) {
    printf("skipped: this MPI grants thread level %d for %d\n", g_level, wanted);
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  REQUIRE(ompl_init() == OMPL_OK);
  REQUIRE(ompl_size() == 2);
  for (int thread = 0; thread < 2; ++thread) {
    REQUIRE(ompl_alloc(kLong, &g_data[thread]) == OMPL_OK);
    REQUIRE(ompl_alloc(8, &g_flag[thread]) == OMPL_OK);
  }
  pthread_t threads[2];
  const int talks = g_level >= MPI_THREAD_SERIALIZED;
  REQUIRE(pthread_create(&threads[0], NULL, second_thread, NULL) == 0);
  if (talks) REQUIRE(pthread_create(&threads[1], NULL, talk_by_mpi, NULL) == 0);
  exchange(0);
  for (int i = 0; i <= talks; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
  ask_for_progress_thread();
  if (g_level == MPI_THREAD_SERIALIZED) break_the_rule();
  REQUIRE(ompl_barrier() == OMPL_OK);
  if (strcmp(argv[2], "mpi") == 0) {
    end_mpi_first();
  } else {
    REQUIRE(ompl_finalize() == OMPL_OK);
    REQUIRE(MPI_Finalize() == MPI_SUCCESS);
  }
  printf("rank %d: all was right\n", g_rank);
  return 0;
}

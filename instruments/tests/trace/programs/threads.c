/* SPDX-License-Identifier: BSD-3-Clause
 * threads COUNT MESSAGES: threads of two ranks that exchange messages, each with its counterpart; some complete requests
 * that other threads posted. */
#include <pthread.h>
#include <stdint.h>

#include "expect.h"

enum { kMostThreads = 16 };
#define WORLD MPI_COMM_WORLD

static int count, messages;
static MPI_Request handed[kMostThreads];
static pthread_barrier_t barrier;
static pthread_mutex_t first_call = PTHREAD_MUTEX_INITIALIZER;
static int next_thread = 2;

static void* work(void* argument) {
  const int me = (int)(intptr_t)argument, peer = 1 - rank_;
  int out = me, in = 0;
  MPI_Request requests[2];
  pthread_mutex_lock(&first_call); /* threads are numbered in the order of their first calls */
  expect_open(next_thread++);
  MPI_Isend(&out, 1, MPI_INT, peer, me, WORLD, &handed[me]);
  expect_post("Isend", peer, me, 4, 1000000 * (me + 1), "");
  pthread_mutex_unlock(&first_call);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < messages; ++i) {
    const int number = 1000000 * (me + 1) + 2 * i + 1;
    MPI_Irecv(&in, 1, MPI_INT, peer, me, WORLD, &requests[0]);
    expect_post("Irecv", peer, me, 4, number, "");
    MPI_Isend(&out, 1, MPI_INT, peer, me, WORLD, &requests[1]);
    expect_post("Isend", peer, me, 4, number + 1, "");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect("Waitall", "\"completes\": [%d, %d]", number, number + 1);
  }
  MPI_Recv(&in, 1, MPI_INT, peer, me, WORLD, MPI_STATUS_IGNORE);
  expect_message("Recv", peer, me, 4, "");
  pthread_barrier_wait(&barrier);
  MPI_Wait(&handed[(me + 1) % count], MPI_STATUS_IGNORE);
  expect(
      "Wait",
      "\"comm\": 0"); /* small sends may share a handle: which of them it was, only its thread knows */
  fclose(expect_file);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kMostThreads];
  if (argc != 3) return 2;
  count = atoi(argv[1]);
  messages = atoi(argv[2]);
  expect_init(MPI_THREAD_MULTIPLE);
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  expect_finalize();
  return 0;
}

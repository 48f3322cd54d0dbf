/* SPDX-License-Identifier: BSD-3-Clause
 * threads.c: each thread of each PE has a context of its own and sends to the thread of its number on the next PE; a wait ends
 * when its message has come, whatever the other threads do.
 *
 *     oshcc -O2 -pthread threads.c -o threads && oshrun -n 4 ./threads
 */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 500, kLength = 32 };
static struct {
  long data[kLength];
  uint64_t come;
} boxes[kThreads];
static int me, pes, wrong;

static void* work(void* argument) {
  const long thread = (long)argument;
  const int right = (me + 1) % pes, left = (me + pes - 1) % pes;
  shmem_ctx_t context;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) != 0) shmem_global_exit(2);
  for (long round = 1; round <= kRounds; ++round) {
    long message[kLength];
    for (int i = 0; i < kLength; ++i) message[i] = me + round * thread + i;
    /* The next message may only be sent once the last one was read: even numbers say so. */
    while (shmem_ctx_uint64_atomic_fetch(context, &boxes[thread].come, right) !=
           2 * (uint64_t)round - 2) {
    }
    shmem_ctx_long_put(context, boxes[thread].data, message, kLength, right);
    shmem_ctx_fence(context);
    shmem_ctx_uint64_atomic_set(context, &boxes[thread].come, 2 * (uint64_t)round - 1, right);
    shmem_uint64_wait_until(&boxes[thread].come, SHMEM_CMP_EQ, 2 * (uint64_t)round - 1);
    for (int i = 0; i < kLength; ++i)
      if (boxes[thread].data[i] != left + round * thread + i)
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    shmem_ctx_uint64_atomic_inc(context, &boxes[thread].come, me);
  }
  shmem_ctx_destroy(context);
  return NULL;
}

int main(void) {
  int provided = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  pes = shmem_n_pes();
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  shmem_barrier_all();
  if (me == 0) printf("%d messages went round\n", pes * kThreads * kRounds);
  shmem_finalize();
  return wrong;
}

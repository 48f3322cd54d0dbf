// SPDX-License-Identifier: BSD-3-Clause
/* Threads of two ranks play ping-pong over OpenSHMEM, each in a context of its own: putmem, fence, p of a flag that the other
 * one tests in a loop. The specification (1.4, sections 9.4 and 9.9) allows all of it. Without code of this project.
 *
 *   oshcc -pthread oshmem_contexts.c -o oshmem_contexts
 *   oshrun -n 2 --bind-to none --oversubscribe oshmem_contexts serialized|shared test|quiet|wait [ROUNDS]
 *
 * `quiet`: a waiting thread also calls shmem_ctx_quiet, now and then; `wait`: shmem_wait_until in place of
 * the loop. Open MPI 4.1.4 of Debian 12, two busy cores:
 *   serialized test    hangs, or crashes in shmem_ctx_putmem: a thread that waits drives the contexts of all
 *   serialized quiet   crashes there, now and then
 *   serialized wait    crashes there (6 of 6 runs)
 *   shared test        hangs: the loop drives nothing (oshmem_progress.c)
 *   shared quiet       ends
 *   shared wait        ends
 */
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, BYTES = 64, LOOKS = 100 };

static struct channel {
  shmem_ctx_t context;
  uint64_t* flag; /* symmetric */
  char* data;     /* symmetric */
} channels[THREADS];
static int quiet, waits, me;
static uint64_t rounds = 20000;

static void put(struct channel* at, uint64_t count) {
  char bytes[BYTES];
  memset(bytes, (int)count, sizeof bytes);
  shmem_ctx_putmem(at->context, at->data, bytes, sizeof bytes, 1 - me);
  shmem_ctx_fence(at->context);
  shmem_ctx_uint64_p(at->context, at->flag, count, 1 - me);
}

static void await(struct channel* at, uint64_t count) {
  if (waits) {
    shmem_uint64_wait_until(at->flag, SHMEM_CMP_GE, count);
    return;
  }
  for (int looks = 1; !shmem_uint64_test(at->flag, SHMEM_CMP_GE, count); ++looks) {
    if (quiet && looks % LOOKS == 0) shmem_ctx_quiet(at->context);
    sched_yield();
  }
}

static void* play(void* channel) {
  struct channel* at = channel;
  for (uint64_t count = 1; count <= rounds; ++count) {
    if (me == 0) put(at, count);
    await(at, count);
    if (me == 1) put(at, count);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int serialized = argc > 1 && strcmp(argv[1], "serialized") == 0;
  quiet = argc > 2 && strcmp(argv[2], "quiet") == 0;
  waits = argc > 2 && strcmp(argv[2], "wait") == 0;
  if (argc > 3) rounds = strtoull(argv[3], NULL, 10);
  int granted = 0;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted) != 0 || granted < SHMEM_THREAD_MULTIPLE)
    return 2;
  me = shmem_my_pe();
  for (int i = 0; i < THREADS; ++i) {
    if (shmem_ctx_create(serialized ? SHMEM_CTX_SERIALIZED : 0, &channels[i].context) != 0) return 3;
    channels[i].flag = shmem_calloc(1, sizeof(uint64_t));
    channels[i].data = shmem_malloc(BYTES);
  }
  shmem_barrier_all();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, play, &channels[i]);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  shmem_barrier_all();
  if (me == 0)
    printf("all %llu rounds of %d threads were played\n", (unsigned long long)rounds, THREADS);
  shmem_global_exit(
      0); /* shmem_finalize of Open MPI 4.1.4 crashes after this, in a hook of memory that is gone */
  return 0;
}

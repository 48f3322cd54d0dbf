# SPDX-License-Identifier: BSD-3-Clause
"""Programs about teams, shared contexts and libraries: each ends with another status than 0 if something is wrong."""

# The threads of every PE make and end teams, each of its own parent, in an order that differs among PEs.
SPLITS_BY_THREADS = r"""
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
enum { kThreads = 4, kRounds = 12 };
static shmem_team_t parents[kThreads];
static long mine[kThreads], sum[kThreads];
static int me, pes, wrong;
static void is_wrong(int step) { __atomic_store_n(&wrong, step, __ATOMIC_RELAXED); }
static void *work(void *argument) {
  const long thread = (long)argument;
  for (int round = 0; round < kRounds; ++round) {
    shmem_team_t team, x, y;
    if (shmem_team_split_strided(parents[thread], 0, 1, pes, NULL, 0, &team) != 0) is_wrong(1);
    mine[thread] = me + thread;
    shmem_sum_reduce(team, &sum[thread], &mine[thread], 1);
    if (sum[thread] != pes * (pes - 1) / 2 + pes * thread) is_wrong(2);
    if (shmem_team_split_2d(team, 2, NULL, 0, &x, NULL, 0, &y) != 0) is_wrong(3);
    if (shmem_team_n_pes(y) != (pes + 1 - me % 2) / 2) is_wrong(4);
    shmem_team_destroy(y);
    shmem_team_destroy(x);
    shmem_team_destroy(team);
  }
  return NULL;
}
int main(void) {
  int provided = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  pes = shmem_n_pes();
  for (int i = 0; i < kThreads; ++i)
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &parents[i]) != 0) return 1;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) { /* another one first on each PE */
    const long thread = (i + me) % kThreads;
    pthread_create(&threads[i], NULL, work, (void *)thread);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  if (wrong != 0) fprintf(stderr, "step %d\n", wrong);
  shmem_finalize();
  return wrong;
}
"""

# Threads use active sets that are new, each set by one thread of each member, at moments that differ among PEs.
SETS_BY_THREADS = r"""
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>
enum { kThreads = 3 };
static long sync_words[kThreads][SHMEM_REDUCE_SYNC_SIZE], work_words[kThreads][SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long mine[kThreads], sum[kThreads];
static int me, pes, wrong, used;
static void use(int thread, int start, int log, int size) {
  const int stride = 1 << log;
  if (me < start || (me - start) % stride != 0 || (me - start) / stride >= size) return;
  usleep((unsigned)((me * 37 + thread * 91 + start * 53 + size * 71) % 13 * 300));
  mine[thread] = me + 1;
  shmem_long_sum_to_all(&sum[thread], &mine[thread], 1, start, log, size, work_words[thread], sync_words[thread]);
  const long expected = (long)size * (start + 1) + (long)stride * size * (size - 1) / 2;
  if (sum[thread] != expected) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
}
static void *work(void *argument) {
  const int thread = (int)(long)argument;
  for (int start = 0; start < pes; ++start)
    for (int log = 0; log < 3; ++log)
      for (int size = 2; start + ((size - 1) << log) < pes; ++size)
        if ((start + 2 * log + size) % kThreads == thread) use(thread, start, log, size);
  return NULL;
}
int main(void) {
  int provided = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  pes = shmem_n_pes();
  alarm(150);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void *)((i + me) % kThreads));
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  shmem_finalize();
  if (used < pes) fprintf(stderr, "%d sets\n", used);
  return wrong != 0 || used < pes;
}
"""

# PE 1 stands still while much is on its way to it. A quiet of a context that threads share does not wait for that.
ALONE = r"""
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { kLength = 64 << 20 };
static pid_t process;
static long word, told;
int main(void) {
  int provided = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  const int me = shmem_my_pe();
  char *there = shmem_malloc(kLength), *here = calloc(kLength, 1);
  process = getpid();
  alarm(100);
  shmem_barrier_all();
  if (me == 0) {
    shmem_ctx_t ctx;
    if (shmem_ctx_create(0, &ctx) != 0) return 1;
    const pid_t other = shmem_int_g(&process, 1);
    kill(other, SIGSTOP);
    memset(here, 7, kLength);
    shmem_putmem_nbi(there, here, kLength, 1);
    shmem_ctx_long_p(ctx, &word, 5, 2);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_atomic_inc(ctx, &told, 2);
    shmem_ctx_quiet(ctx); /* for ever, if it waited for PE 1 */
    if (shmem_ctx_long_g(ctx, &word, 2) != 5) return 2;
    kill(other, SIGCONT);
    shmem_quiet();
  }
  if (me == 2) {
    shmem_wait_until(&told, SHMEM_CMP_EQ, 1L);
    if (word != 5) return 3;
  }
  shmem_barrier_all();
  if (me == 1 && there[kLength - 1] != 7) return 4;
  shmem_finalize();
  return 0;
}
"""

# A library with static data of its own, and the program that links it.
LIBRARY = r"""
#include <shmem.h>
static long hidden = 3;
long visible[600];
long *of_library(void) { return &hidden; }
int library_pes(void) { return shmem_n_pes(); }
"""
LIBRARY_USER = r"""
#include <shmem.h>
extern long visible[600];
extern long *of_library(void);
extern int library_pes(void);
int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), right = (me + 1) % library_pes(), left = (me + library_pes() - 1) % library_pes();
  if (*of_library() != 3 || !shmem_addr_accessible(of_library(), right)) return 1;
  shmem_barrier_all();
  shmem_long_p(of_library(), me + 10, right);
  shmem_long_p(&visible[599], me + 20, right);
  shmem_barrier_all();
  if (*of_library() != left + 10 || visible[599] != left + 20) return 2;
  shmem_finalize();
  return 0;
}
"""

# A put arrives though nothing follows it on its context, and though its thread only waits.
ARRIVES = r"""
#include <shmem.h>
static long flag;
int main(int count, char **arguments) {
  int provided = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  if (count > 1 && shmem_ctx_create(count > 2 ? SHMEM_CTX_SERIALIZED : 0, &ctx) != 0) return arguments != NULL;
  for (long i = 1; i <= 100; ++i) {
    shmem_ctx_long_p(ctx, &flag, i, (me + 1) % pes);
    shmem_wait_until(&flag, SHMEM_CMP_GE, i);
  }
  shmem_finalize();
  return 0;
}
"""

# SPDX-License-Identifier: BSD-3-Clause
"""The programs of programs_test.py. Each ends with another status than 0 if something does not hold."""

HELLO = r"""
#include <shmem.h>
#include <stdio.h>
static long box = -1;
long flag, sum;
int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  long mine = me;
  shmem_long_put(&box, &mine, 1, (me + 1) % pes);
  shmem_fence();
  shmem_p(&flag, 1L, (me + 1) % pes);
  shmem_wait_until(&flag, SHMEM_CMP_EQ, 1L);
  long *values = shmem_malloc(sizeof *values);
  *values = me + 1;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, values, 1);
  printf("PE %d of %d: %ld, %ld\n", me, pes, box, sum);
  shmem_free(values);
  shmem_finalize();
  return 0;
}
"""

STATIC = r"""
#include <shmem.h>
#include <cstring>
#include <string>
#include <thread>
static char zeros[std::size_t{200} << 20];  // untouched pages cost nothing
static int initialised[1000] = {1, 2, 3};
struct Counter {
  int value = 5;
  Counter() { value = 6; }
};
static Counter counter;  // set by a constructor
static const int constant = 9;
static std::string text = "a text that is too long to lie in the object";
thread_local int of_thread = 1;
int main() {
  shmem_init();
  const int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
  if (counter.value != 6 || initialised[2] != 3 || text.size() != 44) return 1;
  shmem_barrier_all();
  shmem_int_p(&counter.value, me + 10, right);
  shmem_int_p(&initialised[999], me + 20, right);
  shmem_char_p(&zeros[sizeof zeros - 1], 'x', right);
  shmem_barrier_all();
  const int left = (me + shmem_n_pes() - 1) % shmem_n_pes();
  if (counter.value != left + 10 || initialised[999] != left + 20 || zeros[sizeof zeros - 1] != 'x') return 2;
  if (shmem_addr_accessible(&constant, right) || shmem_addr_accessible(&of_thread, right)) return 3;
  if (!shmem_addr_accessible(zeros, right)) return 4;
  text += " and grows";
  std::thread([] { counter.value = 1; }).join();
  if (counter.value != 1) return 5;
  shmem_finalize();
  return counter.value == 1 ? 0 : 6;
}
"""

PROFILE = r"""
#include <pshmem.h>
#include <stdio.h>
static int puts_seen;
static long target;
void shmem_long_put(long *dest, const long *source, size_t nelems, int pe) {
  ++puts_seen;
  pshmem_long_put(dest, source, nelems, pe);
}
int main(void) {
  shmem_init();
  long value = 3;
  shmem_long_put(&target, &value, 1, shmem_my_pe());
  shmem_put(&target, &value, 1, shmem_my_pe());
  shmem_quiet();
  if (target != 3) return 1;
  printf("%d puts seen\n", puts_seen);
  shmem_finalize();
  return 0;
}
"""

HEAP = r"""
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static long resident(void) { /* pages, shared ones included */
  long size = 0, pages = -1;
  FILE *file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld %ld", &size, &pages) != 2) pages = -1;
  fclose(file);
  return pages;
}
static int large(void) {
  char *small = shmem_malloc(1 << 20);
  if (small == NULL || resident() * sysconf(_SC_PAGESIZE) > 200L << 20) return 1;
  for (int i = 0; i < 50; ++i) { /* what is freed is used again: 10 GiB in all */
    char *block = shmem_malloc((size_t)200 << 20);
    if (block == NULL) return 2;
    block[i] = 1;
    shmem_free(block);
  }
  char *blocks[100];
  for (int i = 0; i < 100; ++i) blocks[i] = shmem_align(64 << (i % 12), 1000 + 777 * i);
  for (int i = 0; i < 100; ++i) {
    if (blocks[i] == NULL || (size_t)blocks[i] % (64UL << (i % 12)) != 0) return 3;
    memset(blocks[i], i, 1000 + 777 * i);
  }
  for (int i = 0; i < 100; ++i)
    if (blocks[i][0] != (char)i || blocks[i][999 + 777 * i] != (char)i) return 4;
  for (int i = 0; i < 100; i += 2) shmem_free(blocks[i]);
  for (int i = 1; i < 100; i += 2) shmem_free(blocks[i]);
  shmem_free(small);
  return 0;
}
static int full(void) {
  if (shmem_malloc(2 << 20) != NULL) return 5;
  char *half = shmem_malloc(500 << 10);
  if (half == NULL || shmem_malloc(600 << 10) != NULL) return 6;
  shmem_free(half);
  half = shmem_malloc(600 << 10);
  return half == NULL ? 7 : 0;
}
int main(int count, char **arguments) {
  shmem_init();
  const int status = count > 1 && strcmp(arguments[1], "large") == 0 ? large() : full();
  if (status != 0) fprintf(stderr, "step %d\n", status);
  shmem_finalize();
  return status;
}
"""

THREADS = r"""
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
enum { kThreads = 4, kRounds = 300 };
static long slots[kThreads], by_shared[kThreads], counter, lock, added;
static shmem_ctx_t shared;
static int me, pes, right, wrong;
static pthread_barrier_t meeting;
static void *work(void *argument) {
  const long thread = (long)argument;
  shmem_ctx_t own;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &own) != 0) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
  for (long i = 1; i <= kRounds; ++i) {
    shmem_long_p(&slots[thread], i, right);                 /* by the default context */
    shmem_ctx_long_p(shared, &by_shared[thread], i, right); /* by one that all threads use */
    pthread_barrier_wait(&meeting);
    if (thread == 0) { /* one thread completes what all have sent */
      shmem_quiet();
      shmem_ctx_quiet(shared);
    }
    pthread_barrier_wait(&meeting);
    if (shmem_ctx_long_g(own, &slots[thread], right) != i || shmem_ctx_long_g(own, &by_shared[thread], right) != i)
      __atomic_store_n(&wrong, 2, __ATOMIC_RELAXED);
    if (i % 10 == 0) {
      shmem_set_lock(&lock);
      shmem_ctx_long_p(own, &counter, shmem_ctx_long_g(own, &counter, 0) + 1, 0);
      shmem_ctx_quiet(own);
      shmem_clear_lock(&lock);
    }
    shmem_ctx_long_atomic_inc(own, &added, 0);
  }
  shmem_ctx_destroy(own);
  return NULL;
}
int main(void) {
  int provided = 0;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE) return 1;
  me = shmem_my_pe();
  pes = shmem_n_pes();
  right = (me + 1) % pes;
  if (shmem_ctx_create(0, &shared) != 0) return 2;
  pthread_barrier_init(&meeting, NULL, kThreads);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  shmem_barrier_all();
  const long all = (long)pes * kThreads * kRounds;
  if (wrong != 0 || shmem_g(&counter, 0) != all / 10 || shmem_g(&added, 0) != all) {
    fprintf(stderr, "wrong %d, counter %ld, added %ld\n", wrong, shmem_g(&counter, 0), shmem_g(&added, 0));
    return 3;
  }
  shmem_ctx_destroy(shared);
  shmem_finalize();
  return 0;
}
"""

RESULTS = r"""
#include <shmem.h>
#include <stdio.h>
enum { kMany = 1500 };
static long counter;
static int narrow;
static long wide_results[kMany];
static int narrow_results[kMany];
static char seen[2][kMany];
int main(void) { /* many atomics whose results come later, by two contexts at once */
  shmem_init();
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) return 1;
  const int right = (shmem_my_pe() + 1) % shmem_n_pes();
  for (int i = 0; i < kMany; ++i) {
    wide_results[i] = narrow_results[i] = -1;
    shmem_atomic_fetch_inc_nbi(&wide_results[i], &counter, right);
    shmem_atomic_fetch_add_nbi(ctx, &narrow_results[i], &narrow, 1, right);
  }
  shmem_quiet();
  shmem_ctx_quiet(ctx);
  for (int i = 0; i < kMany; ++i) { /* each value comes once */
    if (wide_results[i] < 0 || wide_results[i] >= kMany || seen[0][wide_results[i]]++ != 0) return 2;
    if (narrow_results[i] < 0 || narrow_results[i] >= kMany || seen[1][narrow_results[i]]++ != 0) return 3;
  }
  shmem_ctx_destroy(ctx);
  shmem_barrier_all();
  if (counter != kMany || narrow != kMany) return 4;
  shmem_finalize();
  return 0;
}
"""

# Each loop ends only if it makes progress: over a network without progress of its own what PE 1 puts has to arrive.
COMPUTES = r"""
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>
static long word, sum;
int main(int argc, char** argv) { /* PE 1 is outside the library until PE 0 has had its answers */
  shmem_init();
  const int me = shmem_my_pe();
  word = 7 + me;
  shmem_barrier_all();
  if (me == 1) {
    while (access(argv[argc - 1], F_OK) != 0) usleep(1000);
  } else {
    const long got = shmem_long_g(&word, 1);
    const long before = shmem_long_atomic_fetch_add(&sum, 5, 1);
    FILE* told = fopen(argv[argc - 1], "w");
    if (got != 8 || before != 0 || told == NULL) shmem_global_exit(1);
    fclose(told);
  }
  shmem_barrier_all();
  if (me == 1 && sum != 5) shmem_global_exit(2);
  shmem_finalize();
  return 0;
}
"""

LOOPS = r"""
#include <shmem.h>
static long words[2], lock;
static uint64_t signal;
static size_t indices[2];
static int me;
static void turn(void) { /* the next word is set by PE 1 */
  shmem_barrier_all();
  words[0] = 1;
  words[1] = 0;
  signal = 0;
  shmem_barrier_all();
  if (me != 1) return;
  shmem_long_p(&words[1], 1, 0);
  shmem_quiet();
  shmem_signal_set(&signal, 1, 0);
  shmem_quiet();
}
int main(void) {
  shmem_init();
  me = shmem_my_pe();
  turn();
  while (me == 0 && !shmem_long_test_all(words, 2, NULL, SHMEM_CMP_EQ, 1)) {}
  turn();
  while (me == 0 && shmem_long_test_some(words, 2, indices, NULL, SHMEM_CMP_EQ, 1) < 2) {}
  turn();
  while (me == 0 && shmem_long_wait_until_some(words, 2, indices, NULL, SHMEM_CMP_EQ, 1) < 2) {}
  turn();
  while (me == 0 && shmem_long_test(&words[1], SHMEM_CMP_EQ, 0)) {}
  turn();
  while (me == 0 && shmem_long_test_any(words, 2, NULL, SHMEM_CMP_EQ, 0) != SIZE_MAX) {}
  turn();
  while (me == 0 && shmem_long_g(&words[1], 0) != 1) {}
  turn();
  while (me == 0 && shmem_long_atomic_fetch(&words[1], 0) != 1) {}
  turn();
  while (me == 0 && shmem_signal_fetch(&signal) != 1) {}
  turn();
  if (me == 0) shmem_set_lock(&lock);
  turn();
  if (me == 0) shmem_clear_lock(&lock);
  if (me == 1) while (shmem_test_lock(&lock) != 0) {}
  if (me == 1) shmem_clear_lock(&lock);
  shmem_finalize();
  return 0;
}
"""

# Contexts by the thousand, teams that are nested and kept, then as many more as there is memory for.
MANY = r"""
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
enum { kContexts = 10000, kTeams = 2000 };
static shmem_ctx_t contexts[kContexts];
static shmem_team_t teams[kTeams];
static long number, sum;
int main(int count, char **arguments) {
  shmem_init();
  const int pes = shmem_n_pes(), right = (shmem_my_pe() + 1) % pes;
  for (int i = 0; i < kContexts; ++i) {
    if (shmem_ctx_create(i % 2 == 0 ? SHMEM_CTX_PRIVATE : 0, &contexts[i]) != 0) return 1;
    shmem_ctx_long_atomic_inc(contexts[i], &number, right);
  }
  for (int i = 0; i < kContexts; ++i) shmem_ctx_destroy(contexts[i]);
  shmem_barrier_all();
  if (number != kContexts) return 2;
  int made = 0;
  shmem_team_t parent = SHMEM_TEAM_WORLD;
  while (made < kTeams && shmem_team_split_strided(parent, 0, 1, pes, NULL, 0, &teams[made]) == 0) {
    number = made;
    if (shmem_sum_reduce(teams[made], &sum, &number, 1) != 0 || sum != (long)pes * made) return 3;
    if (made < 20) parent = teams[made];
    ++made;
  }
  if (made < kTeams && teams[made] != SHMEM_TEAM_INVALID) return 4;
  if (shmem_my_pe() == 0) printf("%d teams\n", made);
  for (int i = made - 1; i >= 0; --i) shmem_team_destroy(teams[i]);
  shmem_team_t again; /* there is room again, also after many */
  for (int i = 0; i < 300; ++i) {
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &again) != 0) return 5;
    shmem_team_destroy(again);
  }
  shmem_finalize();
  return made >= (count > 1 ? atoi(arguments[1]) : 1) ? 0 : 6;
}
"""

EXIT = r"""
#include <shmem.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments) {
  shmem_init();
  if (count > 1 && strcmp(arguments[1], "exit") == 0 && shmem_my_pe() == 1) exit(3);
  if (count > 1 && strcmp(arguments[1], "exit") == 0) shmem_barrier_all(); /* for ever, without the other */
  if (count > 1 && strcmp(arguments[1], "after") == 0) {
    shmem_finalize();
    exit(0);
  }
  return 0; /* without shmem_finalize() */
}
"""

GLOBAL_EXIT = r"""
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
static long never;
int main(int count, char **arguments) {
  shmem_init();
  if (shmem_my_pe() == 1) {
    printf("text without an end");
    shmem_global_exit(count > 1 ? atoi(arguments[1]) : 1);
  }
  shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
  return 1;
}
"""

FORK = r"""
#include <shmem.h>
#include <sys/wait.h>
#include <unistd.h>
static long number = 4;
int main(void) {
  shmem_init();
  const pid_t child = fork();
  if (child == 0) {
    number = 5; /* its own */
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0 || number != 4) return 1;
  shmem_barrier_all();
  if (shmem_long_g(&number, (shmem_my_pe() + 1) % shmem_n_pes()) != 4) return 2;
  shmem_finalize();
  return 0;
}
"""

_MISUSE = r"""
#include <shmem.h>
long number;
int main(void) {
  shmem_init();
  int of_stack = 0;
  (void)of_stack;
  %s
  shmem_finalize();
  return 0;
}
"""
BAD_PE = _MISUSE % "long value = 1; shmem_long_put(&number, &value, 1, 99);"
BAD_ADDRESS = _MISUSE % "shmem_int_p(&of_stack, 1, 0);"
DOUBLE_FREE = _MISUSE % "void *block = shmem_malloc(100); shmem_free(block); shmem_free(block);"
DEBUG = _MISUSE % "if (shmem_malloc(100 + (size_t)shmem_my_pe()) == NULL) return 1;"

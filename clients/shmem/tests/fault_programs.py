# SPDX-License-Identifier: BSD-3-Clause
"""The programs of faults_test.py."""

# The last PE kills itself while the others are in a call, which is to end, and to end the job.
KILLED = r"""
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static long word, source = 1, sum, lock, never, pattern[1024], place[1024];
static uint64_t signal_word;
int main(int count, char **arguments) {
  shmem_init();
  const int me = shmem_my_pe(), last = shmem_n_pes() - 1;
  const char *how = count > 1 ? arguments[1] : "";
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, last + 1, NULL, 0, &team);
  alarm(45);
  if (me == last && strcmp(how, "lock") == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me == last) {
    shmem_wait_until(&word, SHMEM_CMP_GE, (long)last);
    kill(getpid(), SIGKILL);
  }
  shmem_atomic_inc(&word, last);
  for (;;) {
    if (strcmp(how, "put") == 0) shmem_put(place, pattern, 1024, last), shmem_quiet();
    if (strcmp(how, "put_nbi") == 0) shmem_put_nbi(place, pattern, 1024, last), shmem_quiet();
    if (strcmp(how, "get") == 0) shmem_get(place, pattern, 1024, last);
    if (strcmp(how, "atomic") == 0) shmem_atomic_fetch_add(&sum, 1L, last);
    if (strcmp(how, "signal") == 0)
      shmem_put_signal(place, pattern, 8, &signal_word, 1, SHMEM_SIGNAL_ADD, last), shmem_quiet();
    if (strcmp(how, "barrier") == 0) shmem_barrier_all();
    if (strcmp(how, "sync") == 0) shmem_team_sync(team);
    if (strcmp(how, "reduction") == 0) shmem_sum_reduce(team, &sum, &source, 1);
    if (strcmp(how, "broadcast") == 0) shmem_broadcast(team, place, pattern, 1024, last);
    if (strcmp(how, "wait") == 0) shmem_wait_until(&never, SHMEM_CMP_NE, 0L);
    if (strcmp(how, "signal_wait") == 0) shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0);
    if (strcmp(how, "lock") == 0) shmem_set_lock(&lock);
    if (strcmp(how, "malloc") == 0) shmem_free(shmem_malloc(100));
    if (strcmp(how, "split") == 0) shmem_team_split_strided(team, 0, 1, last, NULL, 0, &team);
    if (strcmp(how, "finalize") == 0) shmem_finalize();
  }
}
"""

# The last PE kills itself; the others go on with its memory, which is mapped, and then need the PE itself.
MAPPED = r"""
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static long word, place[8], count, told;
static int process;
int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), last = shmem_n_pes() - 1;
  process = (int)getpid();
  alarm(45);
  shmem_barrier_all();
  const int other = shmem_g(&process, last);
  shmem_atomic_inc(&word, last);
  if (me == last) {
    shmem_wait_until(&word, SHMEM_CMP_EQ, (long)last + 1);
    kill(process, SIGKILL);
  }
  while (kill(other, 0) == 0) usleep(1000);
  for (long i = 1; i <= 1000; ++i) {
    shmem_p(&place[me], i, last);
    shmem_quiet();
    if (shmem_g(&place[me], last) != i) return 2;
    shmem_atomic_inc(&count, last);
  }
  if (shmem_atomic_fetch(&count, last) < 1000) return 3;
  printf("PE %d used the memory\n", me);
  fflush(stdout);
  for (int pe = 0; pe < last; ++pe) shmem_atomic_inc(&told, pe);
  while (shmem_atomic_fetch(&told, me) < last) usleep(1000); /* a wait would notice the death */
  shmem_barrier_all();
  return 4;
}
"""

# Static data that the segment has no room for.
HUGE = r"""
#include <shmem.h>
static char huge[300L << 20];
int main(void) {
  shmem_init();
  huge[0] = 1;
  shmem_finalize();
  return 0;
}
"""

UNALIGNED = r"""
#include <shmem.h>
static struct {
  char first;
  long words[3];
} place;
int main(int count, char **arguments) {
  (void)arguments;
  shmem_init();
  long *wrong = (long *)((char *)&place.words + 2);
  if (count == 1) shmem_atomic_inc(wrong, (shmem_my_pe() + 1) % shmem_n_pes());
  if (count == 2) shmem_atomic_fetch_add_nbi(&place.words[2], wrong, 1, (shmem_my_pe() + 1) % shmem_n_pes());
  if (count == 3) shmem_wait_until(wrong, SHMEM_CMP_NE, 0L);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
"""

# Two threads use a context that the first one has destroyed.
DESTROYED = r"""
#include <pthread.h>
#include <shmem.h>
static long word;
static shmem_ctx_t ctx;
static void *use(void *unused) {
  shmem_ctx_long_p(ctx, &word, 1, 0);
  return unused;
}
int main(int count, char **arguments) {
  int provided = 0;
  pthread_t thread;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  shmem_ctx_create(count > 1 ? SHMEM_CTX_SERIALIZED : 0, &ctx);
  pthread_create(&thread, NULL, use, NULL);
  pthread_join(thread, NULL);
  shmem_ctx_destroy(ctx);
  shmem_ctx_t others[10];
  for (int i = 0; i < 10; ++i) shmem_ctx_create(0, &others[i]);
  pthread_create(&thread, NULL, use, NULL);
  pthread_join(thread, NULL);
  shmem_finalize();
  return arguments == NULL;
}
"""

# An allocator that is preloaded, and so stands before the C library's; its memory is static data of a library.
ALLOCATOR = r"""
#include <stddef.h>
#include <string.h>
#include <errno.h>
static char memory[512L << 20] __attribute__((aligned(64)));
static size_t used;
static void *take(size_t size, size_t alignment) {
  const size_t head = 64 > alignment ? 64 : alignment;
  const size_t begin = __atomic_fetch_add(&used, (size + 3 * head) / head * head, __ATOMIC_RELAXED);
  char *block = memory + (begin + 2 * head - 1) / head * head;
  if (begin + size + 3 * head > sizeof memory) return NULL;
  ((size_t *)block)[-1] = size;
  return block;
}
void *malloc(size_t size) { return take(size, 16); }
void *calloc(size_t count, size_t size) { return take(count * size, 16); }
void free(void *block) { (void)block; }
void *realloc(void *block, size_t size) {
  void *moved = take(size, 16);
  if (block != NULL && moved != NULL) {
    const size_t before = ((size_t *)block)[-1];
    memcpy(moved, block, before < size ? before : size);
  }
  return moved;
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  *result = take(size, alignment);
  return *result == NULL ? ENOMEM : 0;
}
void *aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
void *memalign(size_t alignment, size_t size) { return take(size, alignment); }
"""

# More elements than an int counts. Of bytes, so that it needs 4 GiB on a PE.
LONG = r"""
#include <shmem.h>
#include <stdio.h>
int main(void) {
  shmem_init();
  const size_t count = ((size_t)1 << 31) + 1;
  signed char *from = shmem_malloc(count), *to = shmem_malloc(count);
  if (from == NULL || to == NULL) return 1;
  from[count - 1] = (signed char)(shmem_my_pe() + 3);
  if (shmem_broadcast(SHMEM_TEAM_WORLD, to, from, count, 1) != 0 || to[count - 1] != 4) return 2;
  shmem_finalize();
  return 0;
}
"""

CONTEXT = r"""
#include <shmem.h>
static long word;
int main(void) {
  shmem_init();
  shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &word, 1, 0);
  shmem_finalize();
  return 0;
}
"""

# More elements than an address has bytes: eight times this is 16 in 64 bits. The argument names the call.
COUNTLESS = r"""
#include <shmem.h>
#include <stdio.h>
#include <string.h>
static long data[4], source[4];
static uint64_t word;
int main(int count, char **arguments) {
  const size_t many = ((size_t)1 << 61) + 2;
  const char *how = count > 1 ? arguments[1] : "";
  shmem_init();
  shmem_long_p(data, 1, 1), shmem_quiet(); /* from here on the window is open */
  if (strcmp(how, "put") == 0) shmem_long_put(data, source, many, 1);
  if (strcmp(how, "put_nbi") == 0) shmem_long_put_nbi(data, source, many, 1);
  if (strcmp(how, "get") == 0) shmem_long_get(source, data, many, 1);
  if (strcmp(how, "put_signal") == 0) shmem_long_put_signal(data, source, many, &word, 1, SHMEM_SIGNAL_SET, 1);
  if (strcmp(how, "iput") == 0) shmem_long_iput(data, source, 2, 1, many, 1);
  if (strcmp(how, "broadcast") == 0) shmem_long_broadcast(SHMEM_TEAM_WORLD, data, source, many, 0);
  if (strcmp(how, "fcollect") == 0) shmem_long_fcollect(SHMEM_TEAM_WORLD, data, source, many);
  if (strcmp(how, "alltoall") == 0) shmem_long_alltoall(SHMEM_TEAM_WORLD, data, source, many);
  puts("not refused");
  shmem_finalize();
  return 0;
}
"""

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline: put and flag with nothing but mapped memory, atomics and a futex. The library is compared with it,
 * so it is as fast as we could write it, and its flag has the library's meaning: a signal adds one to a counter and
 * a wait takes one from it. A waiter spins, then yields, then sleeps; a signal wakes sleepers, and costs one look
 * when there are none.
 */
#include "baseline.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  spins_alone = 1000, /* looks before the first yield, if every thread has a core */
  /* If not, the thread waited for may need this core; but two threads that meet, each on a core, should stay
     together for a while rather than yield at every message: */
  spins_together = 50, /* looks while the other side is there, about what a change of threads takes */
  spins_apart = 100,   /* looks for it to come, twice as many at rank 0, lest two pairs always miss */
  turn = 256,          /* waits, then the core is the next thread's */
  bulk = 16 << 10,     /* bytes that take longer to move than a wait should spin */
  line_bytes = 128     /* what caches move together */
};

struct baseline_flag {
  _Alignas(line_bytes) _Atomic uint32_t count; /* signals not yet taken */
  _Atomic uint32_t sleepers;
  _Atomic uint32_t events; /* changes when sleepers are to look again; the futex */
};

#ifdef __x86_64__
static void pause_cpu(void) { __builtin_ia32_pause(); }
#else
static void pause_cpu(void) { __asm__ volatile("yield"); }
#endif

static int crowded, spins_between, yields; /* yields: before sleeping */
static __thread int waits, together, bulky;

void* baseline_map(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return memory;
}

void baseline_set(int threads, int rank) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  crowded = threads > CPU_COUNT(&cores);
  spins_between = crowded ? (rank == 0 ? 2 : 1) * spins_apart : 1;
  yields = crowded ? 50 : 1000;
}

size_t baseline_flag_size(void) { return sizeof(baseline_flag); }

void baseline_put(void* to, const void* from, size_t bytes) {
  if (bytes == 8)
    memcpy(to, from, 8); /* one store, not a call */
  else
    memcpy(to, from, bytes);
  if (__builtin_expect(bytes > bulk, 0)) bulky = 1;
}

__attribute__((noipa)) int baseline_put_checked(void* base, size_t capacity, size_t offset,
                                                const void* from, size_t bytes) {
  if (offset > capacity || bytes > capacity - offset) return -1;
  baseline_put((char*)base + offset, from, bytes);
  return 0;
}

static long futex(_Atomic uint32_t* word, int operation, uint32_t value) {
  return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

void baseline_signal(baseline_flag* flag) {
  atomic_fetch_add(&flag->count, 1); /* sequentially consistent: no load passes it */
  if (__builtin_expect(atomic_load(&flag->sleepers) != 0, 0)) {
    atomic_fetch_add(&flag->events, 1);
    futex(&flag->events, FUTEX_WAKE, INT_MAX);
  }
}

static int take(baseline_flag* flag) {
  uint32_t count = atomic_load_explicit(&flag->count, memory_order_relaxed);
  while (count != 0) {
    if (atomic_compare_exchange_weak_explicit(&flag->count, &count, count - 1, memory_order_acquire,
                                              memory_order_relaxed))
      return 1;
  }
  return 0;
}

static int sleep_once(baseline_flag* flag) {
  atomic_fetch_add(&flag->sleepers, 1);
  const uint32_t events = atomic_load(&flag->events);
  const int taken = take(flag); /* a signal before this look did not see us asleep */
  if (!taken) futex(&flag->events, FUTEX_WAIT, events);
  atomic_fetch_sub(&flag->sleepers, 1);
  return taken;
}

static int look(baseline_flag* flag, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (take(flag)) return 1;
    pause_cpu();
  }
  return 0;
}

static int look_crowded(baseline_flag* flag) {
  int spins = ++waits >= turn || bulky ? 1 : together ? spins_together : spins_between;
  together = look(flag, spins);
  return together;
}

void baseline_wait(baseline_flag* flag) {
  if (crowded ? look_crowded(flag) : look(flag, spins_alone)) return;
  waits = 0;
  int between = bulky ? 1 : spins_between;
  bulky = 0;
  for (int i = 0; i < yields; ++i) {
    sched_yield();
    if (look(flag, between)) return;
  }
  while (!take(flag) && !sleep_once(flag)) {
  }
}

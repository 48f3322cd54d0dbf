/* SPDX-License-Identifier: BSD-3-Clause */
/* What a programmer writes who has nothing but mapped memory and atomics; each as fast as we could write it, with
   the address check that the library makes, in a function that is called, as the library's are. */
#include "operations.h"

#include <stdatomic.h>
#include <string.h>

__attribute__((noipa)) static int put(char* to, size_t capacity, size_t offset, const char* from,
                                      size_t bytes) {
  if (offset > capacity || bytes > capacity - offset) return -1;
  memcpy(to + offset, from, bytes);
  return 0;
}

int baseline_pieces(void* to, size_t capacity, const void* from, size_t count, size_t bytes) {
  for (size_t i = 0; i < count; ++i)
    if (put(to, capacity, i * bytes, (const char*)from + i * bytes, bytes)) return -1;
  atomic_thread_fence(memory_order_release);
  return 0;
}

__attribute__((noipa)) int baseline_column(void* to, size_t capacity, size_t stride, const double* from,
                                           size_t count) {
  if (count == 0) return 0;
  if (capacity < sizeof *from || count - 1 > (capacity - sizeof *from) / stride) return -1;
  char* at = to;
  for (size_t i = 0; i < count; ++i, at += stride) memcpy(at, &from[i], sizeof *from);
  return 0;
}

__attribute__((noipa)) int baseline_fetch_add(void* base, size_t capacity, size_t offset,
                                              uint64_t value, uint64_t* before) {
  if (offset % sizeof value != 0 || offset > capacity || sizeof value > capacity - offset) return -1;
  *before = atomic_fetch_add((_Atomic uint64_t*)(void*)((char*)base + offset), value);
  return 0;
}

__attribute__((noipa)) int baseline_double_add(void* base, size_t capacity, size_t offset,
                                               double value) {
  if (offset % sizeof value != 0 || offset > capacity || sizeof value > capacity - offset) return -1;
  _Atomic uint64_t* word = (_Atomic uint64_t*)(void*)((char*)base + offset);
  uint64_t before = atomic_load_explicit(word, memory_order_relaxed);
  uint64_t after;
  do {
    double sum;
    memcpy(&sum, &before, sizeof sum);
    sum += value;
    memcpy(&after, &sum, sizeof sum);
  } while (!atomic_compare_exchange_weak(word, &before, after));
  return 0;
}

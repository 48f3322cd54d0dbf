/* SPDX-License-Identifier: BSD-3-Clause */
/* The baselines of nonblocking and strided puts and of the atomics: by hand on mapped memory. See operations.c. */
#ifndef BENCH_RAW_OPERATIONS_H
#define BENCH_RAW_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies `count` pieces of `bytes` each to `to`, each checked against the capacity, then orders them. */
int baseline_pieces(void* to, size_t capacity, const void* from, size_t count, size_t bytes);

/* Copies `count` doubles, packed at `from`, to `to` at `stride` bytes, the last one checked. */
int baseline_column(void* to, size_t capacity, size_t stride, const double* from, size_t count);

/* Adds to the word at base + offset, checked and aligned; *before receives what it was. */
int baseline_fetch_add(void* base, size_t capacity, size_t offset, uint64_t value, uint64_t* before);

/* Adds to the double at base + offset by a loop of compare-and-swap, checked and aligned. */
int baseline_double_add(void* base, size_t capacity, size_t offset, double value);

#ifdef __cplusplus
}
#endif

#endif

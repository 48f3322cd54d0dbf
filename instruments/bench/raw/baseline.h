/* SPDX-License-Identifier: BSD-3-Clause */
/* The baseline: put and flag between two processes, by hand. See baseline.c. */
#ifndef BENCH_RAW_BASELINE_H
#define BENCH_RAW_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct baseline_flag baseline_flag;

/* Memory that this process and the children it forks share, zero; NULL if there is none. */
void* baseline_map(size_t bytes);

/* Sets how long a wait of this process spins; `threads` are those of both ranks together. */
void baseline_set(int threads, int rank);

size_t baseline_flag_size(void);
void baseline_put(void* to, const void* from, size_t bytes);
void baseline_signal(baseline_flag* flag);
void baseline_wait(baseline_flag* flag);

/* baseline_put() to base + offset that checks the offset against the segment, and is never inlined; 0 if
 * it is good. */
int baseline_put_checked(void* base, size_t capacity, size_t offset, const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

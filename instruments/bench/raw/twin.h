/* SPDX-License-Identifier: BSD-3-Clause */
/* The twin: put and flag between two processes, by hand. See twin.c. */
#ifndef BENCH_RAW_TWIN_H
#define BENCH_RAW_TWIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct twin_flag twin_flag;

/* Memory that this process and the children it forks share, zero; NULL if there is none. */
void* twin_map(size_t bytes);

/* Sets how long a wait of this process spins; `threads` are those of both ranks together. */
void twin_set(int threads, int rank);

size_t twin_flag_size(void);
void twin_put(void* to, const void* from, size_t bytes);
void twin_signal(twin_flag* flag);
void twin_wait(twin_flag* flag);

/* twin_put() to base + offset that checks the offset against the segment, and is never inlined; 0 if
 * it is good. */
int twin_put_checked(void* base, size_t capacity, size_t offset, const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

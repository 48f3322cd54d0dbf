/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for language runtimes: waits for words that plain puts change. Addresses, threads, errors and time limits are those
 * of ompl.h and ompl_ext.h.
 */
#ifndef OMNIPGAS_OMPL_MEMORY_H
#define OMNIPGAS_OMPL_MEMORY_H

#include <omnipgas/ompl_ext.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Waiting for memory
 *
 * A wait for a word of this rank's segment that anything changes: puts, atomics, signals, or stores of ranks of the node
 * through ompl_ptr(). Writers of plain data wake nobody. So a waiting thread polls and makes progress, then sleeps 50
 * microseconds, twice as long each time, up to a millisecond; signals and arrivals over a network wake it at once. Waits for
 * flags (ompl_wait) cost less: use them where the writer can signal.
 */

/* Added to OMPL_EQ ... OMPL_LE of a condition on memory: compares as numbers with sign. Without it they have none. */
enum { OMPL_SIGNED = 16 };

/* Waits until the condition holds on the word at flag_addr, which has 8, 16, 32 or 64 bits and is aligned to its size;
 * takes nothing (no OMPL_TAKE). An acquire of what was put, and fenced or flushed, before the word.
 * Errors: those of ompl_ctx_wait_until(). A timeout of 0 tests. */
OMPL_API int ompl_wait_memory(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns);

/* Waits until one of the conditions holds; *which: its number. Begins behind the one found last. */
OMPL_API int ompl_wait_memory_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                                  size_t* which, int64_t timeout_ns);

/* Waits until at least one holds; the numbers of all that do, ascending, in indices[0 .. *found - 1]. */
OMPL_API int ompl_wait_memory_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                                   size_t* indices, size_t* found, int64_t timeout_ns);

/* Waits until each has held, not necessarily all at one time. */
OMPL_API int ompl_wait_memory_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                                  int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for language runtimes: allocation by one rank alone or by a team, memory of the program that becomes part of the
 * segment, waits for words that plain puts change, and what may be done with memory of a GPU. Addresses, threads,
 * errors and time limits are those of ompl.h and ompl_ext.h.
 */
#ifndef OMNIPGAS_OMPL_MEMORY_H
#define OMNIPGAS_OMPL_MEMORY_H

#include <omnipgas/coll.h>
#include <omnipgas/ompl_ext.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Memory kinds
 *
 * Segments are memory of the CPU. The local side of a put or get may also be memory of a GPU (of CUDA): it is then copied through
 * pinned host memory, in pieces of OMPL_GPU_CHUNK, of which one is copied while another travels. ompl_put(), ompl_get(),
 * ompl_put_signal(), their ompl_ctx_ and _nb forms, and the strided and indexed ones take addresses of device memory. Nothing
 * of CUDA is linked or loaded: the driver is asked, if the program has loaded it. Managed and pinned memory are memory of the CPU.
 * All this ran over a stand-in for the driver only, never on a card.
 *
 *  - The copies go on streams of the layer's own, which wait for no other stream. Work on the device that writes the source, or
 *    still uses the target, must have ended before the call (cuStreamSynchronize, say). A get has arrived on the device when it returns.
 *  - A time limit is that of posting the first piece; what was begun is completed, whatever the time. So there is no OMPL_PENDING
 *    but from ompl_put_nb().
 *  - ompl_put_nb() waits for the device; for more than two pieces also until the first have left. Its source may be reused when it returns.
 *    ompl_get_nb() waits for the data: over a network, in a function of a remote call, it is OMPL_ERR_STATE as ompl_get() is.
 *  - A failing driver is OMPL_ERR_MEMORY, OMPL_ERR_ARG (CUDA_ERROR_INVALID_VALUE: the range is not allocated) or OMPL_ERR_SYSTEM;
 *    the detail names its function and code. A driver without a function that staging needs is
 *    OMPL_ERR_UNSUPPORTED. The driver knows nothing of memory that was freed: an address of it is taken for the CPU's.
 *  - The driver is found when a thread first calls the layer, or by the functions below. A thread that has called before the
 *    program loaded it finds it at the latest when another new one calls. From then on every put and get asks it.
 *  - OMPL_GPU=refuse makes such calls OMPL_ERR_UNSUPPORTED, as memory of HIP, payloads of remote calls, collectives, halo
 *    exchanges, ompl_register() and adoption always are. With OMPL_GPU=off puts and gets
 *    ask nobody: none of their addresses may then be a GPU's.
 */

/* Kinds of memory. */
enum { OMPL_KIND_HOST = 0, OMPL_KIND_DEVICE = 1 };

/* What memory is used for. */
enum {
  OMPL_USE_LOCAL = 0, /* the local side of puts and gets */
  OMPL_USE_REMOTE = 1 /* part of a segment, which other ranks address */
};

/* Stores the kind of the memory at `address` in *kind: OMPL_KIND_DEVICE if only a GPU can reach it and a driver says so (never with
 * OMPL_GPU=off), else OMPL_KIND_HOST. Any thread; it looks for drivers in /proc, so it is no call for each transfer.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG. */
OMPL_API int ompl_memory_kind(const void* address, int* kind);

/* OMPL_OK if memory of a kind may be used so in this process now. Any thread.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (no such kind or use), OMPL_ERR_UNSUPPORTED (and why, as ompl_error_detail()). */
OMPL_API int ompl_kind_supports(int kind, int use);

/* ------------------------------------------------------------------------------------------------
 * Local memory: allocations of one rank alone, or of a team
 *
 * A rank takes memory in its own segment without the others, and tells its offset to whoever shall use it: by a put, a
 * signal's value, a collective. Every other rank may then put, get, signal, and use atomics and ompl_ptr() there, at once and
 * over every conduit, as in what ompl_alloc() gave. Allocations of all ranks (symmetric) grow upwards from the bottom of the
 * segments, local ones downwards from the top, so OMPL_SEGMENT_SIZE has to hold both.
 *
 * What is checked where:
 *
 *  - Symmetric offsets, and all that a rank does in its own segment, are checked exactly, before anything is sent, as ever
 *    (OMPL_ERR_OFFSET, OMPL_ERR_LENGTH).
 *  - What other ranks have taken alone a rank cannot know. From its first call of ompl_accept_local(), or of a function below
 *    that allocates or adopts for one rank or a team, it accepts for other ranks whatever lies between the end of the highest symmetric
 *    allocation and the end of the segment. A program that calls none of these functions keeps all checks.
 *  - Signals and atomics that travel are checked by their target against what is allocated there; it drops those that do
 *    not fit, with a warning. A fetching atomic then fails with OMPL_ERR_OFFSET.
 *  - Puts and gets, and stores and atomics in mapped memory, are checked by nobody beyond those bounds. Where nothing is
 *    allocated a put is lost or lands in memory that a later allocation clears; if the target's node is short of memory it
 *    may end in SIGBUS; over verbs it fails with OMPL_ERR_OFFSET, over uTofu it may end the connection.
 *
 * What was freed must not be used any more, as ever; nobody checks that for other ranks' local memory. An ompl_alloc() that fails
 * since another rank's local memory stands in its way may, over verbs and uTofu, end connections over which other threads
 * use that memory at that moment.
 */

/* Allocates `size` bytes (> 0) in the calling rank's segment alone, committed and zero, and stores their offset, a multiple of
 * 256, in *offset. Not collective: any thread, at any time, also while others use, allocate or free memory. Allocations of
 * up to 64 KiB share registered areas. Conduits that register memory by pieces limit the number of larger ones: verbs 4,096,
 * utofu 32 of the segment's size / 32 each.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_MEMORY. */
OMPL_API int ompl_alloc_local(size_t size, uint64_t* offset);

/* Frees what this rank's ompl_alloc_local() returned at `offset`. Not collective; any thread, not necessarily the same. The
 * program has seen to it that nobody uses it any more: that the operations of other ranks there are complete (ompl_flush(),
 * ompl_quiet() of theirs), and own ones that read or write it. Memory goes back to later allocations, not to the system.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET. */
OMPL_API int ompl_free_local(uint64_t offset);

/* Lets this rank use what other ranks allocate alone (see above), for good. For ranks that do not allocate so themselves. Any
 * thread. Errors: OMPL_ERR_STATE. */
OMPL_API int ompl_accept_local(void);

/* Allocates `size` bytes (> 0) at one offset of the segments of the team's members alone, committed and zero at all of them when
 * the call returns. Collective in the team, with the same size (tag 0, as ompl_allreduce()); teams may overlap, and a rank may
 * take part for several teams in turn. Members find an offset that is free at all of them; each round of that is an
 * allreduce, mostly one. For ranks outside the team it is local memory of the members. ompl_team_destroy() frees nothing.
 * Errors, at every member: OMPL_ERR_STATE, OMPL_ERR_ARG (also if sizes differ), OMPL_ERR_MEMORY (any member is short, or nothing
 * is free at all of them; nothing is then allocated), OMPL_ERR_PEER, OMPL_ERR_LINK (as of ompl_allreduce()). */
OMPL_API int ompl_team_alloc(ompl_team* team, size_t size, uint64_t* offset);

/* Frees what ompl_team_alloc() returned at `offset`. Collective in the team. Completes the outstanding operations of all
 * contexts of the members first; no thread may use the allocation any more, nor may ranks outside the team.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (at the others, if a member passes something else; nothing is freed),
 * OMPL_ERR_OFFSET, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_team_free(ompl_team* team, uint64_t offset);

/* ------------------------------------------------------------------------------------------------
 * Adopting memory
 *
 * Memory of the program, an executable's static data for example, becomes part of the segment: its contents are copied into an
 * allocation, whose pages are then also mapped at the program's own addresses. Whatever the program stores there others see
 * at the offset, and the other way round. Signals, waits and ompl_ptr() use the offset.
 *
 * The memory: whole pages, private and writable (the program's data, its heap, anonymous mappings; no stack, nothing registered
 * by ompl_register() or another library, no memory of a GPU). While the call runs no other thread of the process may
 * read or write it: call these functions before threads that do are started. Signals are held back meanwhile.
 *
 * A child of fork() gets private memory with the contents at the time of the fork, of which each fork makes a copy; a child of vfork()
 * or posix_spawn() sees the program's until it executes another. Adopted memory is part of core dumps, and counts as
 * shared memory for a cgroup, as the segment does. The end of the job (ompl_finalize()) gives private memory back.
 */

/* OMPL_OK if the system says that this memory is private and writable. Whether it is a stack or registered, and whether there is
 * room in the segment, is not looked at. Any thread. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (not whole pages),
 * OMPL_ERR_UNSUPPORTED: memory of a GPU, shared mappings (of files, of other processes' memory), adopted and read-only memory. No call
 * makes such memory remotely accessible: copy to or from what ompl_alloc_local() gave. */
OMPL_API int ompl_can_adopt(const void* address, size_t length);

/* Adopts `length` bytes at `address` for all ranks, at the same offset. Collective, with the same length everywhere; addresses may
 * differ, as they do in programs that are loaded at random addresses. The offset is symmetric, and checked as such.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_UNSUPPORTED (memory of a GPU), OMPL_ERR_MEMORY (at every rank, if any cannot
 * adopt its memory: all keep what they had), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_adopt(void* address, size_t length, uint64_t* offset);

/* Gives all ranks private memory with the same contents at the addresses that ompl_adopt() was given, and frees the offset.
 * Collective; completes operations and forbids use as ompl_free() does.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET, OMPL_ERR_ARG, OMPL_ERR_MEMORY (at every rank, if any has no memory: nothing is
 * changed), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_unadopt(uint64_t offset);

/* The same of one rank alone: the offset is one of local memory, as of ompl_alloc_local(). Not collective.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_UNSUPPORTED, OMPL_ERR_MEMORY. */
OMPL_API int ompl_adopt_local(void* address, size_t length, uint64_t* offset);

/* And back. The program has seen to it that nobody uses the offset any more, as before ompl_free_local().
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET, OMPL_ERR_MEMORY (nothing is changed). */
OMPL_API int ompl_unadopt_local(uint64_t offset);

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OMPL, the Omni PGAS communication layer: one-sided put and get into a global address space, and
 * a counter word (a flag) per notification. What is not in this header is not supported.
 *
 * Source of the model and of the seven functions marked [OMPL]: Odajima, Morie, Lee, Sato, "A study
 * of a light-weight inter-node communication layer supporting a multitasking PGAS model", IPSJ SIG
 * Technical Report 2019-HPC-168 No.1, section 4.2.
 *
 * Addresses. Every rank owns a segment of the same capacity (OMPL_SEGMENT_SIZE bytes). A global
 * address is a pair (rank, offset). A `src_addr` is the address of memory of the calling process,
 * cast to uint64_t; a `dest_addr` or `flag_addr` is an offset in bytes into the target's segment, as
 * ompl_alloc() returned it. Offset 0 and offsets that are not allocated are errors.
 *
 * Flags. A flag is a 32-bit counter, 4-byte aligned, in the target's segment. A signal adds one; a
 * wait takes one. Counts are modulo 2^32 and "positive" means nonzero: at most 2^32 - 1 signals may
 * stand untaken on one flag. A put whose data cover a flag word is an error of the program. A store or an
 * atomic of the program's own, through ompl_ptr(), changes a flag too, but wakes nobody: a waiter that sleeps
 * notices it up to 0.1 s later.
 *
 * Ordering. A signal becomes visible at its target only after every earlier put of the same context
 * to the same target. Nothing else is ordered: neither puts among themselves, nor signals among
 * themselves, nor anything issued through different contexts.
 *
 * Threads. Every function may be called by any thread at any time between ompl_init() and
 * ompl_finalize(), but for the collective ones (marked so), which one thread of every rank calls,
 * in the same order everywhere. A context orders operations; each thread has an implicit one.
 *
 * Progress. Every call that may block drives the communication of all threads of its rank while it
 * blocks, and so does ompl_poll(). The library has no communicating threads of its own, unless the program
 * asks for them (coll.h, ompl_set_progress_thread). Signals to a rank that stays outside it are else delayed,
 * never lost. Call ompl_quiet() before you block outside the library on something that depends on what you
 * sent: a network without progress of its own (TCP, MPI) may still need the sender. A short put over a
 * network may be kept until the context's next call, and fail only then. A signal, flush, quiet or barrier
 * sends it.
 *
 * Errors. Functions that return int return OMPL_OK (0), a value documented with them, or a negative
 * OMPL_ERR_* code; outputs are set on success only. ompl_error_detail() says what was wrong and what
 * to do. Ranks, offsets, lengths and flags are checked before anything is written. A local address is not
 * checked: one that is not readable, or for a get writable, is a segmentation fault, as for memcpy().
 *
 * What a process may do beside calling these functions (fork, cancellation, pthread_exit, exceptions, tasks
 * that move between threads, signals of the system) stands in docs/reference/rules.md.
 */
#ifndef OMNIPGAS_OMPL_H
#define OMNIPGAS_OMPL_H

#include <stddef.h>
#include <stdint.h>

#define OMPL_VERSION_MAJOR 0 /* the version, stated here alone: CMake, Python and the pages read it */
#define OMPL_VERSION_MINOR 2
#define OMPL_VERSION_PATCH 0
#define OMPL_VERSION_TEXT "0.2.0"

#if defined(__GNUC__)
#define OMPL_API __attribute__((visibility("default")))
#else
#define OMPL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Results
 */

enum {
  OMPL_OK = 0,                /* done */
  OMPL_PENDING = 1,           /* a timed put or get was posted; its buffer is in use until a flush */
  OMPL_ERR_STATE = -1,        /* called before ompl_init, after ompl_finalize, or either twice */
  OMPL_ERR_RANK = -2,         /* no such rank */
  OMPL_ERR_OFFSET = -3,       /* offset 0, outside the segment, or not allocated */
  OMPL_ERR_ALIGN = -4,        /* a flag that is not 4-byte aligned */
  OMPL_ERR_LENGTH = -5,       /* the range leaves its allocation or overflows */
  OMPL_ERR_ARG = -6,          /* another argument is unusable, for example a null result pointer */
  OMPL_ERR_MEMORY = -7,       /* out of memory, or the segment is full */
  OMPL_ERR_PEER = -8,         /* a rank died, and what was asked can no longer happen */
  OMPL_ERR_LINK = -9,         /* the connection to a rank broke; what was outstanding on it failed */
  OMPL_ERR_TIMEOUT = -10,     /* the time limit passed; nothing was posted, nothing was taken */
  OMPL_ERR_LAUNCH = -11,      /* the launcher's environment is unusable */
  OMPL_ERR_UNSUPPORTED = -12, /* this build or machine cannot do it */
  OMPL_ERR_SYSTEM = -13       /* a system call failed */
};

/* The name and meaning of a result code, in words; never NULL, static storage. Any thread, any time. */
OMPL_API const char* ompl_strerror(int code);

/* What was wrong with the calling thread's last failed call and what to do about it; "" if none
 * failed. The text stays as it is while the thread's next three calls fail. Any time, also before ompl_init(). */
OMPL_API const char* ompl_error_detail(void);

/* The library's version as "MAJOR.MINOR.PATCH"; static storage. Any thread, any time. */
OMPL_API const char* ompl_version(void);

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

/* [OMPL] Joins the job: finds the other ranks (through omplrun, a PMI launcher, an initialised MPI, or
 * alone), creates this rank's segment and opens the conduits. Collective. Once per process.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (a variable of ompl-environment(7) has an unusable value), OMPL_ERR_LAUNCH, OMPL_ERR_MEMORY,
 * OMPL_ERR_SYSTEM, OMPL_ERR_UNSUPPORTED. */
OMPL_API int ompl_init(void);

/* [OMPL] Leaves the job. Collective, with no other call of any thread in progress. All puts complete
 * and all signals are applied; signals that nobody took are dropped. Every pointer and context of the
 * library is invalid afterwards. Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK; resources are
 * given back in any case. */
OMPL_API int ompl_finalize(void);

/* This rank, 0 .. ompl_size() - 1, or OMPL_ERR_STATE. Any thread. */
OMPL_API int ompl_rank(void);

/* The number of ranks of the job, or OMPL_ERR_STATE. Any thread. */
OMPL_API int ompl_size(void);

/* This rank's number among the ranks that share its memory, or OMPL_ERR_STATE. Any thread. */
OMPL_API int ompl_node_rank(void);

/* The number of ranks that share memory with this one, itself included, or OMPL_ERR_STATE. Any thread. */
OMPL_API int ompl_node_size(void);

/* Returns once every rank has called it. Collective. All earlier puts of the calling thread's implicit
 * context are then visible at their targets and its signals applied. If some ranks call another collective
 * function instead, all wait for ever: the hang report (OMPL_HANG_REPORT) names each rank's call.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_barrier(void);

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

/* Allocates `size` bytes (> 0) at the same offset of every rank's segment and stores that offset, a
 * multiple of 256, in *offset. The memory is committed and zero on every rank when the call returns.
 * Collective, with the same size everywhere; other threads may use older allocations meanwhile.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_MEMORY (on every rank, if any rank is short; nothing
 * is then allocated), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_alloc(size_t size, uint64_t* offset);

/* Frees what ompl_alloc() returned at `offset`. Collective. Completes the outstanding operations of
 * all contexts of the rank first; no thread may use the allocation any more.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_free(uint64_t offset);

/* A pointer to (rank, offset), valid until the allocation is freed, or NULL if that rank's memory is not
 * mapped here or the offset is not allocated. The caller's own rank is always mapped. Stores through
 * the pointer are released by the caller's next signal. Any thread. */
OMPL_API void* ompl_ptr(uint32_t rank, uint64_t offset);

/* ------------------------------------------------------------------------------------------------
 * The papers' operations, on the calling thread's implicit context
 *
 * Common errors: OMPL_ERR_STATE, OMPL_ERR_RANK, OMPL_ERR_OFFSET, OMPL_ERR_LENGTH, OMPL_ERR_ALIGN
 * (flags), OMPL_ERR_UNSUPPORTED (memory of a GPU), OMPL_ERR_PEER, OMPL_ERR_LINK.
 */

/* [OMPL] Copies `length` bytes from src_addr to (target_rank, dest_addr). Returns when the source may be
 * reused. Length 0 checks the rank and moves nothing. Overlapping source and destination leave
 * undefined contents. Errors: OMPL_ERR_STATE, OMPL_ERR_RANK, OMPL_ERR_OFFSET, OMPL_ERR_LENGTH,
 * OMPL_ERR_UNSUPPORTED (memory of a GPU), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length);

/* [OMPL] Copies `length` bytes from (target_rank, dest_addr) to src_addr (the papers' parameter names:
 * src_addr is the local side). Returns when the data have arrived. Errors: as ompl_put(): OMPL_ERR_STATE,
 * OMPL_ERR_RANK, OMPL_ERR_OFFSET, OMPL_ERR_LENGTH, OMPL_ERR_UNSUPPORTED, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length);

/* [OMPL] Signals: adds one to the flag at (target_rank, flag_addr), after every earlier put of this
 * context to that rank, and wakes its waiters. Also a release of the caller's own stores through
 * ompl_ptr(). Outstanding gets are not covered. */
OMPL_API int ompl_put_word(uint32_t target_rank, uint64_t flag_addr);

/* [OMPL] Blocks until the flag at flag_addr of the calling rank is positive, and takes one from it
 * atomically. An acquire: the data put before the signal are visible. While nothing comes it spins,
 * then yields (ompl_set_yield), then sleeps. Fails with OMPL_ERR_PEER once a rank is known dead, or with
 * OMPL_ERR_LINK once the connection to one is known broken, and the flag is zero.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET, OMPL_ERR_LENGTH, OMPL_ERR_ALIGN, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_wait(uint64_t flag_addr);

/* [OMPL] 1 if a wait on the calling rank's flag would return at once (an acquire), 0 if not, or where
 * ompl_wait() would fail, its error. Takes nothing, so another thread may still take the signal first.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_OFFSET, OMPL_ERR_LENGTH, OMPL_ERR_ALIGN, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_poll(uint64_t flag_addr);

/* ompl_put() and ompl_put_word() in one operation where the fabric has one. */
OMPL_API int ompl_put_signal(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length,
                             uint64_t flag_addr);

/* Returns when all earlier puts of this context are visible at their targets: to every later read by any
 * means, and before the caller's own later loads and gets. So of two ranks that each put, flush and read
 * what the other puts, at least one sees it. Own stores through ompl_ptr() are covered too. Needed before
 * another context may signal the puts; an own signal needs no flush. docs/explanation/memory-model.md says
 * all about order.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK (something that it covers is lost). */
OMPL_API int ompl_flush(void);

/* ompl_flush(), and all earlier signals of this context are applied at their targets: also before the caller's
 * own later loads, gets and polls. The signals that a barrier sends are signals of the context, too.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK (something that it covers is lost). */
OMPL_API int ompl_quiet(void);

/* ------------------------------------------------------------------------------------------------
 * Explicit contexts and time limits
 *
 * A context orders operations independently of the OS thread: a task that may move between threads
 * uses its own. One thread at a time uses a context. OMPL_CTX_DEFAULT stands for the calling thread's
 * implicit context. `timeout_ns` is in nanoseconds; OMPL_FOREVER, and any other negative number, waits
 * without limit, 0 tries once.
 * Each function is its namesake above, and may also return OMPL_ERR_TIMEOUT, having posted and taken
 * nothing; puts and gets that were posted but are not finished return OMPL_PENDING, and their buffer
 * is in use until a flush of the context returns.
 */

typedef struct ompl_ctx ompl_ctx; /* a context; ompl_ctx_create() makes one */

#define OMPL_CTX_DEFAULT ((ompl_ctx*)0) /* the calling thread's implicit context */
#define OMPL_FOREVER ((int64_t)-1)      /* a wait without a time limit */

/* Creates a context. Any thread. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_MEMORY. */
OMPL_API int ompl_ctx_create(ompl_ctx** ctx);

/* Completes the context's operations (as ompl_quiet) and destroys it; NULL is allowed.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK; the context is destroyed in any case. */
OMPL_API int ompl_ctx_destroy(ompl_ctx* ctx);

OMPL_API int ompl_ctx_put(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                          size_t length, int64_t timeout_ns);
OMPL_API int ompl_ctx_get(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                          size_t length, int64_t timeout_ns);
OMPL_API int ompl_ctx_put_word(ompl_ctx* ctx, uint32_t target_rank, uint64_t flag_addr,
                               int64_t timeout_ns);
OMPL_API int ompl_ctx_put_signal(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, size_t length, uint64_t flag_addr,
                                 int64_t timeout_ns);
OMPL_API int ompl_ctx_wait(ompl_ctx* ctx, uint64_t flag_addr, int64_t timeout_ns);
OMPL_API int ompl_ctx_flush(ompl_ctx* ctx, int64_t timeout_ns);
OMPL_API int ompl_ctx_quiet(ompl_ctx* ctx, int64_t timeout_ns);

/* ompl_barrier() with a time limit. After OMPL_ERR_TIMEOUT the barrier is still under way: call again, timed or
 * not, to go on with it; another collective call finishes it first. */
OMPL_API int ompl_barrier_timed(int64_t timeout_ns);

/* ------------------------------------------------------------------------------------------------
 * Waiting inside a task runtime
 */

/* Called by a waiting thread, with no resource of the library held, instead of sched_yield(). It may run
 * other tasks, which may call any function of this header but collective ones and ompl_set_yield(). It may
 * throw, end its thread, or go on in another thread: the interrupted call then goes on there, an explicit
 * context staying the same and the implicit one becoming that thread's. Returns nonzero if other work ran
 * or may become ready, 0 if the library may put the thread to sleep. */
typedef int (*ompl_yield_fn)(void* arg);

/* Installs the hook for all threads of the rank; NULL restores sched_yield(). Install it while no thread
 * waits. ompl_yield_fn says what a hook may do. Errors: OMPL_ERR_STATE. */
OMPL_API int ompl_set_yield(ompl_yield_fn hook, void* arg);

/* Lets waits block again that the failure of a rank has ended, until a further rank fails. Returns the number of
 * ranks known to have failed, those that a call has reported among them, or an error. Any thread.
 * ompl_failed_ranks() of ompl_ext.h says which. docs/explanation/failures.md says what else fails after a death.
 * Errors: OMPL_ERR_STATE. */
OMPL_API int ompl_failure_ack(void);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_OMPL_H */

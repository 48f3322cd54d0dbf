/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What language runtimes and task schedulers need beyond ompl.h: operations that do not block, signals of
 * any value, waits on several flags, atomics, strided and indexed data, registration, callbacks, counters.
 * Addresses, flags, ordering, threads, progress and errors are those of ompl.h; so is the meaning of a
 * context (OMPL_CTX_DEFAULT: the calling thread's implicit one) and of `timeout_ns` (OMPL_FOREVER, 0: try
 * once). Unless a comment says otherwise a function may be called by any thread, and returns OMPL_OK or one of
 * the common errors of ompl.h's operations, OMPL_ERR_ARG or OMPL_ERR_TIMEOUT.
 *
 * Mixing rules.
 *  - A flag is used by taking (ompl_wait, OMPL_TAKE) or by comparing (the other conditions) at any one time,
 *    not by both. Both see every signal and every atomic.
 *  - Signals are not ordered among themselves: two SETs of one flag need ompl_quiet() between them.
 *  - Atomics are signals that compute: they are ordered after earlier puts of their context to the same rank,
 *    wake the waiters of their word, and are atomic with signals, waits, other atomics and the CPUs' own
 *    (ompl_ptr). They are not atomic with puts and gets.
 *  - A word of 64 bits is waited for in 64 bits and signalled in 64 bits, and one of 32 in 32.
 */
#ifndef OMNIPGAS_OMPL_EXT_H
#define OMNIPGAS_OMPL_EXT_H

#include <omnipgas/ompl.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Signals of any value
 */

/* How a signal changes its flag, which is 4- or 8-byte aligned. */
enum { OMPL_ADD32 = 0, OMPL_SET32 = 1, OMPL_ADD64 = 2, OMPL_SET64 = 3 };

/* A signal: what ompl_put_word() sends is {flag_addr, 1, OMPL_ADD32}. */
typedef struct ompl_signal {
  uint64_t flag_addr;
  uint64_t value; /* the low 32 bits of it for OMPL_ADD32 and OMPL_SET32 */
  int32_t op;     /* OMPL_ADD32, OMPL_SET32, OMPL_ADD64, OMPL_SET64 */
} ompl_signal;

/* Signals (target_rank, signal->flag_addr), as ompl_ctx_put_word() does. */
OMPL_API int ompl_ctx_signal(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal,
                             int64_t timeout_ns);

/* ------------------------------------------------------------------------------------------------
 * Order and completion, of one rank and of the whole process
 */

/* In place of a rank: all of them. */
#define OMPL_ALL_RANKS UINT32_MAX

/* In place of a context: one that all threads of the process may use at the same time. An operation goes by the calling
 * thread's implicit context; a flush, a quiet or a fence covers the operations of all contexts of the process. */
#define OMPL_CTX_SHARED ((ompl_ctx*)1)

/* Orders what the context has sent to `rank`, or to each rank (OMPL_ALL_RANKS): every put, signal and atomic before the
 * fence is visible at its target before any after it to the same rank. Sends nothing to ranks that share memory with this
 * one, nor where the conduit keeps puts to a rank in order and only puts were sent since the last quiet; else it waits, as
 * ompl_ctx_flush_rank() or, after signals, as ompl_ctx_quiet_rank(). Order between two ranks needs a quiet. */
OMPL_API int ompl_ctx_fence(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns);

/* ompl_ctx_flush() of what the context has sent to one rank, or to all. */
OMPL_API int ompl_ctx_flush_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns);

/* ompl_ctx_quiet() of what the context has sent to one rank, or to all. */
OMPL_API int ompl_ctx_quiet_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns);

/* Returns once everything that any context of this process sent before is visible at its target or applied, as by
 * ompl_quiet() of each. Other threads may go on to communicate meanwhile. No time limit: the failure of a rank ends it.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_process_quiet(void);

/* ------------------------------------------------------------------------------------------------
 * Nonblocking operations
 *
 * They never wait: they return OMPL_OK (complete), OMPL_PENDING (posted), or one of the OMPL_RETRY_*
 * (nothing was posted: call ompl_progress(), or do other work, and call again). The buffer of a pending
 * operation is in use until its handle, or a flush of its context, completes. OMPL_OK says what the return of the
 * blocking function does. Before the caller's own later loads an operation comes only once a test or wait has found its handle
 * complete, also the handle of one that was complete at once, or its callback has run, or a flush has returned.
 */

enum {
  OMPL_RETRY_FULL = 2,       /* a queue is full, or the target has not yet taken what was sent before */
  OMPL_RETRY_MEMORY = 3,     /* the device or the system is short of memory */
  OMPL_RETRY_CONNECTING = 4, /* the connection to the rank is being made */
  OMPL_RETRY_BUSY = 5        /* other threads are using every endpoint */
};

/* Options of a nonblocking put. Without any its handle completes when the data are visible at the target. */
enum { OMPL_LOCAL = 1 /* the handle completes when the source may be reused */ };

/* One operation under way. The caller's memory; nothing of it is to be read. A handle that is zero, as
 * OMPL_HANDLE_INIT makes it, stands for no operation, and so does a completed one. Used by one thread at a time,
 * any thread. May be copied, the copy then standing for the operation, unless ompl_handle_then() was called. */
typedef struct ompl_handle {
  uint64_t opaque[12];
} ompl_handle;
#define OMPL_HANDLE_INIT \
  {                      \
    { 0 }                \
  }

/* ompl_put() that does not wait. `signal` follows the data, as in ompl_put_signal(); NULL: none. A put that
 * the fabric carries in several messages may wait for room after the first. handle NULL: completed by
 * ompl_flush() of the context. The handle speaks of the data; ompl_quiet() covers the signal. */
OMPL_API int ompl_put_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         size_t length, const ompl_signal* signal, unsigned options,
                         ompl_handle* handle);

/* ompl_get() that does not wait; the handle completes when the data have arrived at src_addr. */
OMPL_API int ompl_get_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         size_t length, ompl_handle* handle);

/* ompl_ctx_signal() that does not wait: OMPL_OK (accepted; ompl_quiet() tells that it is applied), or one
 * of the OMPL_RETRY_*. */
OMPL_API int ompl_signal_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal);

/* 1 if the operation is complete, 0 if not, or the error it ended with (then it is over too). `ctx` is any
 * context that the caller may use: it drives progress. */
OMPL_API int ompl_handle_test(ompl_ctx* ctx, ompl_handle* handle);

/* 1: the source of that put, which was made without OMPL_LOCAL, may be changed; the data may not be visible yet. 0: not
 * yet; or an error. Makes progress. The handle still stands for the operation. */
OMPL_API int ompl_handle_test_source(ompl_ctx* ctx, ompl_handle* handle);

/* Waits until the operation is complete. */
OMPL_API int ompl_handle_wait(ompl_ctx* ctx, ompl_handle* handle, int64_t timeout_ns);

/* Waits until at least one of `count` operations is complete and stores its number in *which; SIZE_MAX if
 * no handle stood for an operation. If it ended with an error, that is returned, and *which tells whose. */
OMPL_API int ompl_handle_wait_any(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* which,
                                  int64_t timeout_ns);

/* The same, and stores the numbers of all that are complete in indices[0 .. *found - 1], ascending; room for
 * `count`. *found is 0 if no handle stood for an operation. An error is returned, and is that of the last one found. */
OMPL_API int ompl_handle_wait_some(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* indices,
                                   size_t* found, int64_t timeout_ns);

/* Waits until all `count` operations are complete. Returns the first error, if any, all being over. */
OMPL_API int ompl_handle_wait_all(ompl_ctx* ctx, ompl_handle* handles, size_t count,
                                  int64_t timeout_ns);

/* ------------------------------------------------------------------------------------------------
 * Waiting for values, and for several flags
 */

/* What a flag of the calling rank is waited for. OMPL_TAKE: until it is positive, taking one from it. The others
 * take nothing: until `flag OP value`. GT, GE, LT and LE compare modulo 2^32 (2^64): a is greater than b if
 * a - b, taken as a signed number, is positive. So counters may wrap. */
enum { OMPL_TAKE = 0, OMPL_EQ = 1, OMPL_NE = 2, OMPL_GT = 3, OMPL_GE = 4, OMPL_LT = 5, OMPL_LE = 6 };

/* As OMPL_TAKE, but until the flag is at least `value` (> 0), taking that much from it at once. */
enum { OMPL_TAKE_MANY = 7 };

typedef struct ompl_condition {
  uint64_t flag_addr;
  uint64_t value;      /* not used by OMPL_TAKE */
  uint32_t comparison; /* OMPL_TAKE, OMPL_EQ ... OMPL_LE, OMPL_TAKE_MANY */
  uint32_t width;      /* bits of the flag: 32 or 64 */
} ompl_condition;

/* Waits for the condition. An acquire, as ompl_wait() is. */
OMPL_API int ompl_ctx_wait_until(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns);

/* Waits until at least one of `count` (> 0) conditions holds; stores its number in *which. Of conditions with
 * OMPL_TAKE only that one takes. The search begins after the one found last by this context, so that none starves. */
OMPL_API int ompl_ctx_wait_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                               size_t* which, int64_t timeout_ns);

/* The same, and stores the numbers of all that hold in indices[0 .. *found - 1], ascending; room for
 * `count`. Each of them with OMPL_TAKE takes. */
OMPL_API int ompl_ctx_wait_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                                size_t* indices, size_t* found, int64_t timeout_ns);

/* Waits until all `count` conditions hold at once, then takes for those with OMPL_TAKE: from all or, after a
 * timeout, from none. A flag stands in the list at most once. */
OMPL_API int ompl_ctx_wait_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                               int64_t timeout_ns);

/* ------------------------------------------------------------------------------------------------
 * Atomics
 *
 * On words of 32 or 64 bits, aligned to their size, inside an allocation of the target's segment; executed by a
 * CPU of the target's node. *before receives the value that the word had; the call then returns when it is
 * known: the earlier puts of its context to that rank, and the caller's own stores, are visible by then. Without it (NULL, and the functions that have none) the operation is complete as a signal is: after ompl_quiet().
 */

enum {
  OMPL_ATOMIC_FETCH = 0, /* leaves the word as it is; needs `before` */
  OMPL_ATOMIC_SET = 1,   /* with `before`: a swap */
  OMPL_ATOMIC_ADD = 2,
  OMPL_ATOMIC_AND = 3,
  OMPL_ATOMIC_OR = 4,
  OMPL_ATOMIC_XOR = 5,
  OMPL_ATOMIC_CSWAP = 6, /* stores `operand` if the word equals `compare`; needs `before` */
  OMPL_ATOMIC_UMIN = 7,  /* minimum and maximum of words without sign, */
  OMPL_ATOMIC_UMAX = 8,
  OMPL_ATOMIC_SMIN = 9, /* and of words with sign, in two's complement */
  OMPL_ATOMIC_SMAX = 10,
  OMPL_ATOMIC_FADD = 11, /* of the word as float (32 bits) or double (64), in rounding to nearest; */
  OMPL_ATOMIC_FMIN = 12, /* as fmin() and fmax(): a NaN gives way to a number */
  OMPL_ATOMIC_FMAX = 13
};

/* The operand and the value before of an atomic on float or double are the bits of the number. A compare-swap compares the
 * bits, so 0.0 and -0.0 differ, and a NaN equals itself. */
static inline uint32_t ompl_bits_of_float(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}
static inline uint64_t ompl_bits_of_double(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}
static inline float ompl_float_of_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}
static inline double ompl_double_of_bits(uint64_t bits) {
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* One atomic on the word at (target_rank, addr). A timeout means that nothing was posted; once posted, a
 * call that wants `before` waits for it without limit. */
OMPL_API int ompl_ctx_atomic32(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                               uint32_t operand, uint32_t compare, uint32_t* before,
                               int64_t timeout_ns);
OMPL_API int ompl_ctx_atomic64(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                               uint64_t operand, uint64_t compare, uint64_t* before,
                               int64_t timeout_ns);

/* The same without waiting: *before is valid once the handle is complete. */
OMPL_API int ompl_atomic32_nb(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                              uint32_t operand, uint32_t compare, uint32_t* before,
                              ompl_handle* handle);
OMPL_API int ompl_atomic64_nb(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                              uint64_t operand, uint64_t compare, uint64_t* before,
                              ompl_handle* handle);

/* The atomics by name, on the implicit context, without a time limit. Reads the word. */
OMPL_API int ompl_fetch32(uint32_t target_rank, uint64_t addr, uint32_t* value);
OMPL_API int ompl_fetch64(uint32_t target_rank, uint64_t addr, uint64_t* value);

/* Sets the word. */
OMPL_API int ompl_set32(uint32_t target_rank, uint64_t addr, uint32_t value);
OMPL_API int ompl_set64(uint32_t target_rank, uint64_t addr, uint64_t value);

/* Adds to the word, modulo 2^32 (2^64). */
OMPL_API int ompl_add32(uint32_t target_rank, uint64_t addr, uint32_t value);
OMPL_API int ompl_add64(uint32_t target_rank, uint64_t addr, uint64_t value);

/* Clears the bits of the word that are not in `value`. */
OMPL_API int ompl_and32(uint32_t target_rank, uint64_t addr, uint32_t value);
OMPL_API int ompl_and64(uint32_t target_rank, uint64_t addr, uint64_t value);

/* Sets the bits of the word that are in `value`. */
OMPL_API int ompl_or32(uint32_t target_rank, uint64_t addr, uint32_t value);
OMPL_API int ompl_or64(uint32_t target_rank, uint64_t addr, uint64_t value);

/* Flips the bits of the word that are in `value`. */
OMPL_API int ompl_xor32(uint32_t target_rank, uint64_t addr, uint32_t value);
OMPL_API int ompl_xor64(uint32_t target_rank, uint64_t addr, uint64_t value);

/* Adds to the word; *before receives what it was. */
OMPL_API int ompl_fetch_add32(uint32_t target_rank, uint64_t addr, uint32_t value, uint32_t* before);
OMPL_API int ompl_fetch_add64(uint32_t target_rank, uint64_t addr, uint64_t value, uint64_t* before);

/* Sets the word; *before receives what it was. */
OMPL_API int ompl_swap32(uint32_t target_rank, uint64_t addr, uint32_t value, uint32_t* before);
OMPL_API int ompl_swap64(uint32_t target_rank, uint64_t addr, uint64_t value, uint64_t* before);

/* Sets the word to `value` if it equals `compare`; *before receives what it was, so equal if it was set. */
OMPL_API int ompl_compare_swap32(uint32_t target_rank, uint64_t addr, uint32_t compare, uint32_t value,
                                 uint32_t* before);
OMPL_API int ompl_compare_swap64(uint32_t target_rank, uint64_t addr, uint64_t compare, uint64_t value,
                                 uint64_t* before);

/* ------------------------------------------------------------------------------------------------
 * Strided and indexed data
 *
 * Many equal elements in one operation, with one signal after all of them. All addresses are checked
 * before anything moves. The remote elements lie in one allocation.
 *
 * Over a network whose puts need the target's progress in any case (TCP, UCX, MPI), elements of up to 1 KiB travel packed: the target
 * (un)packs them when it is in the library. OMPL_PACK=always does so over every network, OMPL_PACK=never over none. Packed or not, a flush,
 * a quiet and a handle wait until all elements are there, and signals, atomics and calls of the same context come after puts.
 */

#define OMPL_MAX_DIMENSIONS 8 /* of a block at most */

/* An n-dimensional block. The first dimension is the outermost; strides are in bytes, may be negative, and
 * have the meaning they have in NumPy. Strides NULL: packed, the last dimension contiguous. */
typedef struct ompl_strided {
  size_t element;                  /* bytes of an element, > 0 */
  int32_t dimensions;              /* 0 .. OMPL_MAX_DIMENSIONS */
  const size_t* extents;           /* [dimensions]: elements along each; a 0 makes the block empty */
  const ptrdiff_t* local_strides;  /* [dimensions] or NULL */
  const ptrdiff_t* remote_strides; /* [dimensions] or NULL */
} ompl_strided;

/* Elements at given places: element i lies local[i] bytes after src_addr and remote[i] bytes after dest_addr.
 * NULL: packed. */
typedef struct ompl_indexed {
  size_t element;         /* bytes of an element, > 0 */
  size_t count;           /* elements */
  const uint64_t* local;  /* [count] or NULL */
  const uint64_t* remote; /* [count] or NULL */
} ompl_indexed;

/* Puts a block; src_addr and dest_addr are those of its element with all indices 0. `signal` follows, NULL:
 * none. Returns when the source may be reused. Timeout 0 tries once to post the first piece. */
OMPL_API int ompl_ctx_put_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                  uint64_t dest_addr, const ompl_strided* block,
                                  const ompl_signal* signal, int64_t timeout_ns);

/* Gets a block. Returns when it has arrived. */
OMPL_API int ompl_ctx_get_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                  uint64_t dest_addr, const ompl_strided* block, int64_t timeout_ns);

/* Puts the elements of a list, as ompl_ctx_put_strided() does. */
OMPL_API int ompl_ctx_put_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                  uint64_t dest_addr, const ompl_indexed* list,
                                  const ompl_signal* signal, int64_t timeout_ns);

/* Gets the elements of a list. Returns when they have arrived. */
OMPL_API int ompl_ctx_get_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                  uint64_t dest_addr, const ompl_indexed* list, int64_t timeout_ns);

/* ompl_ctx_put_strided() that does not wait, with results, `signal`, `options` and `handle` as those of ompl_put_nb(). The block and
 * its arrays may be changed once the call returns. What is not one message may wait for room after the first. */
OMPL_API int ompl_put_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, const ompl_strided* block,
                                 const ompl_signal* signal, unsigned options, ompl_handle* handle);

/* ompl_ctx_get_strided() that does not wait, as ompl_get_nb(); the block as above. */
OMPL_API int ompl_get_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, const ompl_strided* block, ompl_handle* handle);

/* Puts the elements of a list, as ompl_put_strided_nb() does. */
OMPL_API int ompl_put_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, const ompl_indexed* list,
                                 const ompl_signal* signal, unsigned options, ompl_handle* handle);

/* Gets the elements of a list, as ompl_get_strided_nb() does. */
OMPL_API int ompl_get_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, const ompl_indexed* list, ompl_handle* handle);

/* ------------------------------------------------------------------------------------------------
 * Memory of the program
 */

/* Registers [address, address + length) with the network, once instead of at each put or get that uses it.
 * Never needed for correctness, nor for memory of the segment. May block for milliseconds. Regions must not
 * overlap. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_MEMORY, OMPL_ERR_UNSUPPORTED (memory of a GPU). */
OMPL_API int ompl_register(const void* address, size_t length);

/* Ends the registration that began with ompl_register(address, ...), before the memory is freed. No operation
 * that uses it may be outstanding. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG. */
OMPL_API int ompl_unregister(const void* address);

/* ------------------------------------------------------------------------------------------------
 * Progress and callbacks
 *
 * Callbacks run inside ompl_progress() and nowhere else, in the thread that calls it, one at a time per thread,
 * with no resource of the library held: they may call every function, and use their handle or watch again.
 */

/* code: OMPL_OK, or the error that the operation or the wait ended with. A C++ callback should not throw: ompl_progress() calls
 * the others all the same, drops the exception, and returns OMPL_ERR_SYSTEM. */
typedef void (*ompl_callback_fn)(void* arg, int code);

/* Drives the communication of the rank and runs the callbacks that are due. Returns 1 if anything was found
 * or run. If not, waits for a callback until the time is up, and returns 0 then (never OMPL_ERR_TIMEOUT); with a time
 * limit also OMPL_ERR_PEER or OMPL_ERR_LINK, once a rank has failed and nothing was due. */
OMPL_API int ompl_progress(ompl_ctx* ctx, int64_t timeout_ns);

/* Has `callback(arg, code)` called once the operation is complete, instead of testing or waiting for it. The handle stays
 * where it is, and untouched, until then. A complete one's callback is called by the next ompl_progress(). */
OMPL_API int ompl_handle_then(ompl_handle* handle, ompl_callback_fn callback, void* arg);

/* Memory for one ompl_flag_then(); the caller's, untouched until its callback is called. */
typedef struct ompl_watch {
  uint64_t opaque[8];
} ompl_watch;

/* Has `callback(arg, code)` called once the condition holds (OMPL_TAKE has then taken), or with OMPL_ERR_PEER once
 * that is hopeless. Watches still open at ompl_finalize() are forgotten. */
OMPL_API int ompl_flag_then(ompl_watch* watch, const ompl_condition* condition,
                            ompl_callback_fn callback, void* arg);

/* ------------------------------------------------------------------------------------------------
 * The progress thread
 *
 * One thread of the process that serves other ranks while the program computes: what they put, get, signal, fetch and call
 * here completes although no thread of the program is in the library. Without it that waits for the program's next call,
 * but for what shared memory or the network's device does alone. Functions that other ranks call (ompl_calls.h) then run
 * in that thread, at any time. It sleeps while nothing comes, and leaves the endpoints to the program's threads while
 * those are in the library. OMPL_PROGRESS=thread in the environment asks for it from ompl_init on, OMPL_PROGRESS=auto where
 * puts need the target's processor and a core is free; the default is none. It is also the thread of collectives
 * (OMPL_PROGRESS_SPARE and OMPL_PROGRESS_SHARED of coll.h).
 */

/* on = 1: the caller wants the thread from now on, and it is started if it does not run. on = 0: the caller does so no more.
 * It serves as long as anybody wants it who has not said so; once the last one has, the call returns when the thread has left
 * the network. Local: other ranks may do otherwise. Not within a function that another rank has called. Errors:
 * OMPL_ERR_STATE (also: nobody wants it who could stop), OMPL_ERR_ARG, OMPL_ERR_SYSTEM (no thread can be started),
 * OMPL_ERR_UNSUPPORTED (conduit mpi, and MPI was initialised below MPI_THREAD_SERIALIZED). */
OMPL_API int ompl_set_progress_thread(int on);

/* 1 if the thread serves other ranks, 0 if not. Error: OMPL_ERR_STATE. */
OMPL_API int ompl_progress_thread(void);

/* ------------------------------------------------------------------------------------------------
 * MPI in the same process
 *
 * Only of interest where the layer itself communicates by MPI (conduit mpi, halo exchanges by MPI) and MPI was
 * initialised with MPI_THREAD_SERIALIZED: the program's calls of MPI and the layer's must then not meet.
 */

/* Keeps the layer from calling MPI until ompl_mpi_unlock(); call it before each call of MPI, or a few of them. Waits for
 * a call of MPI that is under way. The calling thread must not use the layer meanwhile, nor wait for what others do only
 * once they have heard from this rank through the layer. May be called at any time. Error: OMPL_ERR_STATE (this
 * thread holds it already). */
OMPL_API int ompl_mpi_lock(void);

/* Ends what ompl_mpi_lock() began; the same thread. Error: OMPL_ERR_STATE (it does not hold it). */
OMPL_API int ompl_mpi_unlock(void);

/* ------------------------------------------------------------------------------------------------
 * The job, and counters
 */

/* Ends the whole job with `exit_code` (1 .. 255; any other becomes 1), saying `why`, by way of the launcher. Does not return. */
OMPL_API void ompl_abort(int exit_code, const char* why);

/* Ends the whole job in order with the exit code `status`, 0 .. 255, which is a success if it is 0; by one rank alone, whatever
 * the others do. By omplrun the job's exit code is `status`; other launchers may make something else of it. Does not return.
 * Another status is OMPL_ERR_ARG, and returns. */
OMPL_API int ompl_job_exit(int status);

/* Lists the ranks known to be dead or out of reach, acknowledged (ompl_failure_ack) or not: *count receives how many there
 * are, ranks[0 .. capacity - 1] the lowest of them, ascending. A capacity of 0 asks for their number, and ranks may then be
 * NULL. A rank stays in the list. What a call has reported is in it; what only other ranks know comes with progress.
 * Does not block. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG. */
OMPL_API int ompl_failed_ranks(uint32_t* ranks, size_t capacity, size_t* count);

/* Says that this rank does nothing more in the job but make progress: call ompl_finalize() next, which waits for all ranks and
 * serves them meanwhile (a stopped image of Fortran 2018). Completes all operations of the rank, as ompl_process_quiet() does: what it
 * has sent is there for whoever finds it in ompl_stopped_ranks(). Not collective; again: no effect. From then on
 * ompl_barrier(), ompl_alloc() and the other collective functions of all ranks return OMPL_ERR_STATE at ranks that know of it, and
 * wait for ever at ranks that entered them before; those of teams wait for their stopped member. Ranks of which some may stop
 * use flags, remote calls and teams of those that go on. No wait ends by it: wait with a time limit, and look at the list.
 * Errors, with which it has stopped all the same: OMPL_ERR_PEER, OMPL_ERR_LINK; and OMPL_ERR_STATE. */
OMPL_API int ompl_stop(void);

/* Lists the ranks known to have stopped and not to have failed, as ompl_failed_ranks() does; this rank too, if it has. News from
 * other nodes come with progress. Does not block. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG. */
OMPL_API int ompl_stopped_ranks(uint32_t* ranks, size_t capacity, size_t* count);

/* What a context has done since it was created. */
typedef struct ompl_statistics {
  size_t size; /* of this struct: set it with OMPL_STATISTICS_INIT */
  uint64_t puts, put_bytes;
  uint64_t gets, get_bytes;
  uint64_t signals; /* sent, those of puts included */
  uint64_t atomics;
  uint64_t waits;   /* that ended well */
  uint64_t retries; /* posts that found no room */
  uint64_t yields;  /* turns given to others while waiting */
  uint64_t sleeps;
  uint64_t failed_claims; /* looks at an endpoint of the pool that another thread was using */
} ompl_statistics;
#define OMPL_STATISTICS_INIT \
  { sizeof(ompl_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Stores the counters of the context in *out, up to out->size. Counting costs some nanoseconds an operation, so it
 * is done only with OMPL_STATISTICS=1 in the environment, else OMPL_ERR_UNSUPPORTED. */
OMPL_API int ompl_ctx_statistics(ompl_ctx* ctx, ompl_statistics* out);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_OMPL_EXT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote calls (active messages): a rank has a registered function run by another rank. Addresses, contexts, handles,
 * timeouts and errors are those of ompl.h and ompl_ext.h.
 *
 * Who runs it. A thread of the target that is inside the library: one that waits in any blocking call, or calls
 * ompl_progress(), ompl_poll() or ompl_handle_test(). No resource of the library is held meanwhile. While no thread of the target
 * enters the library, calls wait.
 *
 * What is promised. Every call runs exactly once. Calls of one context to one rank run in the order in which they were made, one at
 * a time; those of different threads of one rank too are run one at a time. A call is ordered like a signal: the earlier puts of its
 * context to that rank are visible to the function. ompl_quiet() covers the arrival of a call, not that it has run; a reply or a
 * handle tells that. What was called before any rank enters ompl_finalize() runs before that returns.
 *
 * What a function may do. Put, signal and call, through ompl_call_context.context or the functions without a context. It may
 * wait for room in the network as those calls do, and for nothing else: what would wait for another rank returns OMPL_ERR_STATE
 * (waits for flags or handles that are not satisfied, gets and fetching atomics over a network, flush, quiet, collective functions, a
 * call with a reply). A call for which there is no room is queued by the library and sent later, in order, by whoever
 * progresses; beyond OMPL_CALL_QUEUE of them on a rank it returns OMPL_RETRY_FULL and is not made. A function takes no lock that
 * may be held by a thread that calls the library, since that thread may be the one that runs it.
 *
 * Failure. If the target dies or is out of reach, handles and replies end with OMPL_ERR_PEER or OMPL_ERR_LINK, and further calls
 * return it; whether the function ran is then unknown. Calls that have come in from a rank that died still run. A C++ exception
 * that leaves a function ends in OMPL_ERR_SYSTEM for a caller that wants a reply or has a handle; otherwise nobody could
 * learn of it, and it ends the job with the function's name and what the exception says. A function without exceptions ends so by
 * ompl_call_fail(), which never ends the job.
 */
#ifndef OMNIPGAS_OMPL_CALLS_H
#define OMNIPGAS_OMPL_CALLS_H

#include <omnipgas/ompl_ext.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  OMPL_CALL_ARGUMENTS = 4000, /* bytes of arguments of a call at most */
  OMPL_CALL_FUNCTIONS = 1024, /* functions that can be registered */
  OMPL_CALL_QUEUE = 65536     /* calls made by functions of a rank that wait for room at most */
};

/* What a function is told of the call that it runs for. Valid until it returns. */
typedef struct ompl_call_context {
  ompl_ctx* context;     /* the function's own; what it sends comes before its reply */
  uint32_t source;       /* the rank that called */
  uint32_t function;     /* its number */
  const void* arguments; /* a copy of the caller's bytes, aligned to 16; not NULL */
  size_t length;         /* their number */
  uint64_t payload;      /* offset in the own segment where the payload lies; 0: there is none */
  size_t payload_length; /* its bytes */
} ompl_call_context;

/* A function that other ranks call. `user` is what it was registered with. The result is the reply's value. */
typedef uint64_t (*ompl_call_fn)(void* user, const ompl_call_context* call);

/* Registers a function and stores its number, the same on every rank, in *function. `name` is for error messages, and for the
 * check that all ranks register the same; it is copied. The first registration takes memory for incoming calls from the segment:
 * OMPL_CALL_MEMORY bytes at most. Collective. A function stays registered until ompl_finalize().
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (the names differ, an argument is NULL), OMPL_ERR_MEMORY, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_call_register(const char* name, ompl_call_fn code, void* user, uint32_t* function);

/* A call. Begin with OMPL_CALL_INIT. The payload, if its length is not 0, are the bytes at src_addr; they are put to offset
 * dest_addr of the target before the function runs, as by ompl_put(). */
typedef struct ompl_call_request {
  uint32_t function;     /* number of a registered function */
  uint32_t reserved;     /* 0 */
  const void* arguments; /* up to OMPL_CALL_ARGUMENTS bytes; copied before the call returns */
  size_t length;         /* of the arguments */
  uint64_t src_addr;
  uint64_t dest_addr;
  size_t payload_length;
} ompl_call_request;
#define OMPL_CALL_INIT \
  { 0, 0, NULL, 0, 0, 0, 0 }

/* Has the target run the function. `reply` NULL: returns when arguments and payload may be reused, the call being under way. Else
 * waits for the function and stores what it returned in *reply. A timeout means that the function will not run (its payload may
 * have been put, for which there is no limit); once the call was sent a reply is waited for without limit.
 * Errors: OMPL_ERR_RANK, OMPL_ERR_ARG (no such function, too many bytes of arguments), OMPL_ERR_OFFSET, OMPL_ERR_LENGTH,
 * OMPL_ERR_MEMORY, OMPL_ERR_PEER, OMPL_ERR_LINK,
 * OMPL_ERR_TIMEOUT, OMPL_ERR_STATE; with a reply also OMPL_ERR_SYSTEM (the function threw an exception, or
 * called ompl_call_fail()). */
OMPL_API int ompl_call(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request,
                       uint64_t* reply, int64_t timeout_ns);

/* ompl_call() that does not wait: OMPL_OK (sent; only without a handle), OMPL_PENDING, or one of the OMPL_RETRY_* (nothing was sent).
 * The handle completes when the function has run, *reply then being its value unless `reply` is NULL; until then *reply and
 * the payload's source stay where they are. handle NULL: no reply; the payload's source is in use until a flush of the context. */
OMPL_API int ompl_call_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request,
                          uint64_t* reply, ompl_handle* handle);

/* Has the function that this thread runs end in an error: a caller that wants a reply or has a handle gets OMPL_ERR_SYSTEM instead of the
 * value that the function returns. `why` is logged at the target, with the function's name, whoever wants a reply; NULL: no reason.
 * The function goes on until it returns. Errors: OMPL_ERR_STATE (this thread runs no function that another rank has called). */
OMPL_API int ompl_call_fail(const char* why);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_OMPL_CALLS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective communication of teams of ranks: blocking, nonblocking and persistent, from any thread, many at once; with a
 * thread that makes progress while the program computes, or without.
 *
 * Source: "Performance tuning of nonblocking collective communication with progress threads" (CITATION.cff), whose section
 * 4.4.3 finds the cause of slow short collectives in a locked queue of tasks: here a collective is a flat schedule whose next
 * step is taken by whoever has time, by one compare-and-swap. Design: docs/explanation/collectives.md.
 *
 * Order. The members of a team start the collectives of one tag in the same order, with matching arguments, one thread of a
 * rank at a time. Collectives of different tags or teams are independent: any threads start them in any order. With
 * OMPL_COLL_CHECK=1 members first tell each other what they call; those that call different collectives, lengths, roots,
 * operations or algorithms all get OMPL_ERR_ARG, with who called what (ompl_error_detail()), and the team stays usable.
 *
 * Buffers. Lengths and offsets are in bytes, of any alignment; counts are elements of a reduction. A buffer is in use until
 * the collective is complete; what is received must not overlap what is sent, but for OMPL_IN_PLACE. Long data go straight
 * into buffers that lie in the segment (ompl_alloc); elsewhere they are copied once more.
 *
 * Requests. Each collective ends with `options` (NULL: OMPL_COLL_OPTIONS_INIT) and `request`. With request NULL the call
 * blocks until the collective is complete here. Otherwise it returns at once and *request stands for the collective, until
 * ompl_request_test() or a wait finds it complete and sets *request to NULL. A persistent one is made but not started;
 * ompl_request_start() starts it, any number of times, and ompl_request_free() ends it.
 *
 * Errors are those of ompl.h. If a member dies, collectives under way in its teams fail with OMPL_ERR_PEER, as do all
 * that follow in these teams; teams without it go on. A user-defined operation that fails or throws is an error,
 * OMPL_ERR_ARG, at every member that depends on it. So is, OMPL_ERR_MEMORY, a member that finds no memory for what an
 * algorithm needs beside the buffers. One that finds none to take part at all leaves its team: every member gets
 * OMPL_ERR_MEMORY, for all collectives of the team that are under way or follow.
 */
#ifndef OMNIPGAS_COLL_H
#define OMNIPGAS_COLL_H

#include <omnipgas/ompl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Teams
 */

/* Ranks in an order: member i of a team is its i-th rank. */
typedef struct ompl_team ompl_team;

/* Stores the team of all ranks in *team. The first call is collective in the job and comes before any other function of this
 * header; the later ones are local. It needs OMPL_COLL_MEMORY bytes of the segment. The team ends with ompl_finalize(). After the
 * death of a rank the first call fails: a program that goes on after deaths calls it at its beginning.
 * Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_MEMORY, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_team_world(ompl_team** team);

/* Begin with OMPL_TEAM_CONFIG_INIT. The same on every member. */
typedef struct ompl_team_config {
  size_t size;   /* of this struct */
  uint32_t tags; /* collectives of the team have tags 0 .. tags - 1; at most OMPL_MOST_TAGS */
} ompl_team_config;
#define OMPL_TEAM_CONFIG_INIT \
  { sizeof(ompl_team_config), 4 }
#define OMPL_MOST_TAGS 64

/* Makes a team of ranks[0 .. count - 1], each at most once; `config` NULL: OMPL_TEAM_CONFIG_INIT. Called by these ranks,
 * which must include the own one, with the same list; nobody else takes part. Lists that differ are OMPL_ERR_ARG at every rank whose
 * list names one that finds the difference, or one that gets that error; where the lists name different ranks, call ompl_barrier()
 * before the next try. A rank that waits for one that does not call at all waits for ever, and so do ranks of different lists once
 * some rank of the job has failed. One thread of a rank makes and destroys
 * teams at a time, in the same order as the ranks it shares them with. Errors: OMPL_ERR_STATE (ompl_team_world() comes
 * first), OMPL_ERR_ARG, OMPL_ERR_RANK, OMPL_ERR_MEMORY (on every member, if one has no room: raise OMPL_COLL_MEMORY;
 * at one rank alone, if it is in 1,024 teams already), OMPL_ERR_PEER, OMPL_ERR_LINK: a member has failed. Another one may have made the team before it learnt of that; its
 * collectives fail. The members left can make a team of theirs. */
OMPL_API int ompl_team_create(const uint32_t* ranks, size_t count, const ompl_team_config* config,
                              ompl_team** team);

/* Makes teams of the members of `parent` that give the same color, ordered by key, then by their order in `parent`. With a
 * negative color the rank joins none and *team is NULL. Collective in `parent` (tag 0); else as ompl_team_create(). */
OMPL_API int ompl_team_split(ompl_team* parent, int32_t color, int32_t key,
                             const ompl_team_config* config, ompl_team** team);

/* Ends a team, whose collectives are complete and whose persistent requests are freed; NULL is allowed, on every member.
 * Collective in the team; once a member has failed nobody waits for the others. The world cannot be ended (OMPL_ERR_ARG).
 * Further errors: OMPL_ERR_STATE (a request is left; the team stays), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_team_destroy(ompl_team* team);

/* The number of the calling rank among the members, 0 .. ompl_team_size() - 1, or OMPL_ERR_ARG. Any thread. */
OMPL_API int ompl_team_rank(const ompl_team* team);

/* The number of members, or OMPL_ERR_ARG. Any thread. */
OMPL_API int ompl_team_size(const ompl_team* team);

/* The rank in the job of a member, or OMPL_ERR_ARG. Any thread. */
OMPL_API int ompl_team_world_rank(const ompl_team* team, uint32_t member);

/* ------------------------------------------------------------------------------------------------
 * Progress
 */

/* Who goes on with a team's nonblocking collectives while the program computes. */
enum {
  OMPL_PROGRESS_NONE = 0,  /* the callers of this header's functions, in test and wait */
  OMPL_PROGRESS_SPARE = 1, /* a thread of the process, on a core left free; sleeps after a short spin */
  OMPL_PROGRESS_SHARED =
      2, /* a thread of the process on a core that computes: it sleeps at once, wakes on work */
  OMPL_PROGRESS_IDLE = 3, /* every thread that waits anywhere in the library */
  OMPL_PROGRESS_NODE =
      4, /* a thread of one member of each node for all members there; sleeps after a short spin */
  OMPL_PROGRESS_AUTO =
      5 /* one of the others but the last for each call, by trials; needs OMPL_TUNER=1 */
};

/* Sets the mode of a team from now on; begins as OMPL_COLL_PROGRESS says. Members may differ. Nobody is woken for a short
 * collective, which takes less time than that, nor, in a job on one node, to share a core for less than 4 MiB.
 * With OMPL_PROGRESS_NODE the member of the lowest rank on a node has the thread, once it has set that mode too; it copies the
 * others' buffers, where the kernel permits that. What it cannot do is as with OMPL_PROGRESS_NONE: user-defined operations,
 * checked and tuned calls, and calls in which another member sends to, or receives from, another node (with
 * OMPL_COLL_HIERARCHICAL only leaders do).
 * OMPL_PROGRESS_AUTO is of jobs with OMPL_TUNER=1 and OMPL_COLL_PROGRESS=auto on every rank (else OMPL_ERR_ARG); in them all
 * members start a collective with a request, or all without. Any thread. Errors: OMPL_ERR_ARG, OMPL_ERR_SYSTEM (no thread can
 * be started). */
OMPL_API int ompl_team_set_progress(ompl_team* team, int32_t mode);

/* The mode of a team, or OMPL_ERR_ARG. Any thread. */
OMPL_API int ompl_team_progress(const ompl_team* team);

/* ------------------------------------------------------------------------------------------------
 * Requests and options
 */

/* A nonblocking or persistent collective. Used by one thread at a time, any thread. */
typedef struct ompl_request ompl_request;

/* How a collective moves its data. Not every algorithm exists for every collective: ompl_coll_algorithms(). */
enum {
  OMPL_COLL_AUTO = 0, /* chosen by the numbers of bytes and members; with OMPL_TUNER=1 by trials */
  OMPL_COLL_DISSEMINATION = 1,
  OMPL_COLL_BINOMIAL = 2,
  OMPL_COLL_CHAIN = 3, /* in segments, from member to member */
  OMPL_COLL_SCATTER_ALLGATHER = 4,
  OMPL_COLL_RECURSIVE_DOUBLING = 5,
  OMPL_COLL_RABENSEIFNER = 6, /* reduce-scatter by halving, then allgather by doubling */
  OMPL_COLL_RING = 7,
  OMPL_COLL_BRUCK = 8,
  OMPL_COLL_NEIGHBOR_EXCHANGE = 9,
  OMPL_COLL_DIRECT = 10, /* every member puts to every other at once */
  OMPL_COLL_PAIRWISE = 11,
  OMPL_COLL_RECURSIVE_HALVING = 12,
  OMPL_COLL_HIERARCHICAL = 13 /* among the members of each node, and among one of each node */
};

/* Begin with OMPL_COLL_OPTIONS_INIT. Tag and algorithm are the same on every member. */
typedef struct ompl_coll_options {
  size_t size;   /* of this struct */
  ompl_ctx* ctx; /* OMPL_CTX_DEFAULT: the calling thread's implicit context */
  int64_t
      timeout_ns; /* of a blocking call. After OMPL_ERR_TIMEOUT the collective is abandoned and the team unusable */
  uint32_t tag;       /* 0 .. tags of the team - 1 */
  int32_t algorithm;  /* OMPL_COLL_AUTO, ... */
  int32_t persistent; /* 1: *request is made and not started */
} ompl_coll_options;
#define OMPL_COLL_OPTIONS_INIT \
  { sizeof(ompl_coll_options), OMPL_CTX_DEFAULT, OMPL_FOREVER, 0, OMPL_COLL_AUTO, 0 }

/* The collectives, by number. */
enum {
  OMPL_BARRIER = 0,
  OMPL_BROADCAST = 1,
  OMPL_REDUCE = 2,
  OMPL_ALLREDUCE = 3,
  OMPL_ALLGATHER = 4, /* also allgatherv, and so on */
  OMPL_GATHER = 5,
  OMPL_SCATTER = 6,
  OMPL_ALLTOALL = 7,
  OMPL_REDUCE_SCATTER = 8,
  OMPL_SCAN = 9,
  OMPL_EXSCAN = 10
};

/* Stores the algorithms that a collective has in algorithms[0 .. *count - 1], at most `most`. Any time, any thread.
 * Error: OMPL_ERR_ARG. */
OMPL_API int ompl_coll_algorithms(int32_t collective, int32_t* algorithms, size_t most, size_t* count);

/* The name of a collective or of an algorithm as options of `omni` have it ("reduce-scatter", "recursive-doubling"); NULL
 * if there is none. Static storage. Any time, any thread. */
OMPL_API const char* ompl_coll_name(int32_t collective);

/* The same of an algorithm. */
OMPL_API const char* ompl_algorithm_name(int32_t algorithm);

/* Starts a persistent collective, which must not be under way. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_PEER. */
OMPL_API int ompl_request_start(ompl_ctx* ctx, ompl_request* request);

/* 1 if the collective is complete (*request is then NULL, unless it is persistent), 0 if not, or the error it ended with
 * (likewise). Drives progress, also of the rank's other collectives. A NULL request, and a persistent one that is not
 * started, are complete. */
OMPL_API int ompl_request_test(ompl_ctx* ctx, ompl_request** request);

/* Waits until the collective is complete: OMPL_OK, or the error it ended with; further error: OMPL_ERR_TIMEOUT, and it
 * goes on. *request becomes NULL as by ompl_request_test(). */
OMPL_API int ompl_request_wait(ompl_ctx* ctx, ompl_request** request, int64_t timeout_ns);

/* Waits until `count` collectives are complete. Returns the first error, if any, all being over. */
OMPL_API int ompl_request_wait_all(ompl_ctx* ctx, ompl_request** requests, size_t count,
                                   int64_t timeout_ns);

/* Has `callback(arg, code)` called once the collective is complete, instead of testing or waiting for it; `code` is OMPL_OK or
 * the error it ended with. Callbacks run as those of ompl_handle_then() do: inside ompl_progress() (ompl_ext.h) and nowhere
 * else, in the thread that calls it. While callbacks wait for collectives ompl_progress() goes on with all collectives of the
 * rank. The request is the library's from now on: *request is set to NULL. A persistent one stays, untouched until the
 * callback is called, which may start it again; if it is not started it is complete. The team cannot be destroyed before the
 * callback has been called. Callbacks still open at ompl_finalize() are forgotten. Any thread. Errors: OMPL_ERR_STATE (a
 * callback waits for it already), OMPL_ERR_ARG (also: *request is NULL). */
OMPL_API int ompl_request_then(ompl_request** request, void (*callback)(void* arg, int code),
                               void* arg);

/* Ends a persistent request that is not under way and sets *request to NULL; NULL is allowed. Errors: OMPL_ERR_STATE,
 * OMPL_ERR_ARG. */
OMPL_API int ompl_request_free(ompl_request** request);

/* ------------------------------------------------------------------------------------------------
 * Types and operations of reductions
 */

enum {
  OMPL_INT8 = 0,
  OMPL_UINT8 = 1,
  OMPL_INT16 = 2,
  OMPL_UINT16 = 3,
  OMPL_INT32 = 4,
  OMPL_UINT32 = 5,
  OMPL_INT64 = 6,
  OMPL_UINT64 = 7,
  OMPL_FLOAT = 8,
  OMPL_DOUBLE = 9,
  OMPL_FLOAT_COMPLEX = 10,
  OMPL_DOUBLE_COMPLEX = 11,
  OMPL_ELEMENT = 12 /* what a user-defined operation says */
};

/* Logical ones take nonzero for true and give 1 or 0. Of complex numbers there are sum and product; of floating-point ones
 * all but the bitwise; a minimum or maximum of what includes a NaN is a NaN. */
enum {
  OMPL_SUM = 0,
  OMPL_PROD = 1,
  OMPL_MIN = 2,
  OMPL_MAX = 3,
  OMPL_LAND = 4,
  OMPL_LOR = 5,
  OMPL_LXOR = 6,
  OMPL_BAND = 7,
  OMPL_BOR = 8,
  OMPL_BXOR = 9
};

/* inout[i] = in[i] op inout[i] for `count` elements, `in` being of the lower members. Returns 0, or anything else if it
 * fails. Called by any thread that drives progress; it must not call this library. */
typedef int (*ompl_op_fn)(const void* in, void* inout, size_t count, void* arg);

/* Begin with OMPL_OP_CONFIG_INIT. */
typedef struct ompl_op_config {
  size_t size; /* of this struct */
  ompl_op_fn function;
  void* arg;
  size_t element;      /* bytes */
  int32_t commutative; /* 0: only algorithms that keep the members' order are used */
} ompl_op_config;
#define OMPL_OP_CONFIG_INIT \
  { sizeof(ompl_op_config), 0, 0, 0, 1 }

/* Makes an operation, associative, for the type OMPL_ELEMENT; it ends with ompl_finalize(). Its number need not be the
 * same on all ranks. Errors: OMPL_ERR_STATE (ompl_team_world() comes first), OMPL_ERR_ARG, OMPL_ERR_MEMORY (4,096 are
 * made). */
OMPL_API int ompl_op_create(const ompl_op_config* config, int32_t* op);

/* ------------------------------------------------------------------------------------------------
 * Collectives
 *
 * Common errors: OMPL_ERR_STATE, OMPL_ERR_ARG, OMPL_ERR_RANK (no such root), OMPL_ERR_LENGTH (more than 2^40 bytes),
 * OMPL_ERR_UNSUPPORTED (there is no such algorithm, or it cannot keep the order that the operation needs), OMPL_ERR_MEMORY,
 * OMPL_ERR_PEER, OMPL_ERR_LINK, OMPL_ERR_TIMEOUT.
 */

/* In place of a buffer: the data are where they would be received, or stay where they are. Each function says for which. */
#define OMPL_IN_PLACE ((void*)(intptr_t)-1)

/* No member's is complete before every member has started. */
OMPL_API int ompl_team_barrier(ompl_team* team, const ompl_coll_options* options,
                               ompl_request** request);

/* buffer[0 .. length - 1] of the root goes to every member. */
OMPL_API int ompl_broadcast(ompl_team* team, void* buffer, size_t length, uint32_t root,
                            const ompl_coll_options* options, ompl_request** request);

/* `receive` of the root becomes the combination of all members' `send`. In place at the root: send. */
OMPL_API int ompl_reduce(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                         int32_t op, uint32_t root, const ompl_coll_options* options,
                         ompl_request** request);

/* The same at every member. In place: send. */
OMPL_API int ompl_allreduce(ompl_team* team, const void* send, void* receive, size_t count,
                            int32_t type, int32_t op, const ompl_coll_options* options,
                            ompl_request** request);

/* Bytes [i * length, (i + 1) * length) of `receive` become the `length` bytes that member i sends. In place: send. */
OMPL_API int ompl_allgather(ompl_team* team, const void* send, void* receive, size_t length,
                            const ompl_coll_options* options, ompl_request** request);

/* The same with lengths[i] bytes of member i at offsets[i]; offsets NULL: one behind the other. The lists are copied. In
 * place: send. */
OMPL_API int ompl_allgatherv(ompl_team* team, const void* send, void* receive, const size_t* lengths,
                             const size_t* offsets, const ompl_coll_options* options,
                             ompl_request** request);

/* The same as ompl_allgather() at the root alone; `receive` is not used elsewhere. In place at the root: send. */
OMPL_API int ompl_gather(ompl_team* team, const void* send, void* receive, size_t length, uint32_t root,
                         const ompl_coll_options* options, ompl_request** request);

/* The same with lengths of one's own: each member sends `length` bytes; the lists, as those of ompl_allgatherv(), are the
 * root's. In place at the root: send. */
OMPL_API int ompl_gatherv(ompl_team* team, const void* send, size_t length, void* receive,
                          const size_t* lengths, const size_t* offsets, uint32_t root,
                          const ompl_coll_options* options, ompl_request** request);

/* Member i receives bytes [i * length, (i + 1) * length) of the root's `send`. In place at the root: receive. */
OMPL_API int ompl_scatter(ompl_team* team, const void* send, void* receive, size_t length,
                          uint32_t root, const ompl_coll_options* options, ompl_request** request);

/* The same with lengths of one's own, as ompl_gatherv(). In place at the root: receive. */
OMPL_API int ompl_scatterv(ompl_team* team, const void* send, const size_t* lengths,
                           const size_t* offsets, void* receive, size_t length, uint32_t root,
                           const ompl_coll_options* options, ompl_request** request);

/* Member j receives bytes [j * length, (j + 1) * length) of member i's `send` at i * length of `receive`. In place: send. */
OMPL_API int ompl_alltoall(ompl_team* team, const void* send, void* receive, size_t length,
                           const ompl_coll_options* options, ompl_request** request);

/* The same with send_lengths[j] bytes at send_offsets[j] to member j, and likewise received; offsets NULL: one behind the
 * other. The lists are copied. In place: send, the lists of what is sent being those of what is received. */
OMPL_API int ompl_alltoallv(ompl_team* team, const void* send, const size_t* send_lengths,
                            const size_t* send_offsets, void* receive, const size_t* receive_lengths,
                            const size_t* receive_offsets, const ompl_coll_options* options,
                            ompl_request** request);

/* Member i receives elements [i * count, (i + 1) * count) of the combination of all members' `send`. In place: send; the
 * result is at the beginning of `receive`. */
OMPL_API int ompl_reduce_scatter(ompl_team* team, const void* send, void* receive, size_t count,
                                 int32_t type, int32_t op, const ompl_coll_options* options,
                                 ompl_request** request);

/* Member i receives the combination of the `send` of members 0 .. i. In place: send. */
OMPL_API int ompl_scan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                       int32_t op, const ompl_coll_options* options, ompl_request** request);

/* The same of members 0 .. i - 1; `receive` of member 0 is left alone. In place: send. */
OMPL_API int ompl_exscan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                         int32_t op, const ompl_coll_options* options, ompl_request** request);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_COLL_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halo exchange: a rank sends chosen elements of its vectors to its neighbours and reads theirs where they landed, again and
 * again, by a pattern given once. Nothing is allocated, matched or copied between layers in an exchange.
 *
 * Source: "Performance evaluation of RDMA communication with double buffering in the conjugate gradient method" (CITATION.cff),
 * sections 2.2 (plain RDMA) and 3 (double buffering). Why it is safe: docs/explanation/halo.md.
 *
 * Exchanges. Each rank starts the same exchanges of a halo, in the same order. An exchange is complete at a rank when the data of
 * all neighbours have arrived there. The data stay until that rank starts the next one, and the vectors that are
 * sent must not change from the start of an exchange until it is complete.
 *
 * Threads. One thread at a time starts an exchange of a halo, with no wait for that halo in progress; any threads wait for it,
 * also several at once. Different halos are independent. `ctx` and `timeout_ns` are those of ompl.h: OMPL_CTX_DEFAULT
 * stands for the calling thread's implicit context, OMPL_FOREVER for no limit, 0 tries once.
 *
 * Errors are those of ompl.h; a time limit that passes is OMPL_ERR_TIMEOUT.
 */
#ifndef OMNIPGAS_HALO_H
#define OMNIPGAS_HALO_H

#include <omnipgas/ompl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Pattern
 */

/* A pattern, landing slots and the state of the exchange. */
typedef struct ompl_halo ompl_halo;

/* How exchanges travel, and how data are kept from being overwritten while they are read; the same on every rank.
 *
 * Those by MPI need an MPI that the process has initialised before the halo is made, with the same ranks (OMPL_ERR_UNSUPPORTED if
 * not), and end before MPI_Finalize. Below MPI_THREAD_MULTIPLE the rules of ompl_mpi_lock() hold for the threads that call, and
 * OMPL_HALO_MPI_PUT, whose start waits for the neighbours' starts, keeps other threads out of MPI meanwhile.
 *
 * OMPL_HALO_AUTO lets each way that is possible carry a dozen exchanges in turn, measures the time from start to start on the
 * slowest rank, and keeps the fastest. The ompl_halo_start() that decides is collective and waits for all ranks. */
enum {
  OMPL_HALO_DOUBLE_BUFFER = 0, /* two landing slots in turn; nothing is acknowledged or reset */
  OMPL_HALO_SINGLE = 1, /* the paper's plain RDMA: one slot, its mark reset, ready before each put */
  OMPL_HALO_ACKED = 2,  /* two slots; a slot that was read is acknowledged */
  OMPL_HALO_MPI = 3,    /* MPI_Isend and MPI_Irecv */
  OMPL_HALO_MPI_PERSISTENT = 4, /* the same, as persistent requests */
  OMPL_HALO_MPI_NEIGHBOR = 5,   /* MPI_Ineighbor_alltoallw */
  OMPL_HALO_MPI_PUT = 6,        /* MPI_Put between MPI_Win_post, _start, _complete and _test */
  OMPL_HALO_AUTO = 7            /* the fastest of these */
};

/* What this rank exchanges with one other, which must list this rank too, also where elements go one way only
 * (a count is then 0). Elements are numbered in the vectors; they are sent and land in the order of the list. */
typedef struct ompl_halo_neighbor {
  const uint32_t* send_indices; /* [send_count]; NULL: send_first, send_first + 1, ... */
  const uint32_t*
      receive_positions; /* [receive_count], for ompl_halo_unpack(); NULL: from receive_first on */
  size_t send_count;
  size_t send_first;
  size_t receive_count;
  size_t receive_first;
  uint32_t rank; /* may be the own one */
} ompl_halo_neighbor;

/* Begin with OMPL_HALO_CONFIG_INIT. */
typedef struct ompl_halo_config {
  size_t size;    /* of this struct */
  size_t element; /* bytes of an element; the same on every rank */
  size_t vectors; /* vectors that every exchange sends at once; the same on every rank */
  size_t length;  /* elements of a vector: none of the lists may reach beyond; SIZE_MAX: not checked */
  int32_t strategy; /* OMPL_HALO_DOUBLE_BUFFER, ... */
} ompl_halo_config;
#define OMPL_HALO_CONFIG_INIT \
  { sizeof(ompl_halo_config), sizeof(double), 1, SIZE_MAX, OMPL_HALO_DOUBLE_BUFFER }

/* Makes a halo of `count` neighbours (0: this rank has none), each rank at most once. The lists are copied.
 * Collective. Errors: OMPL_ERR_STATE, OMPL_ERR_ARG (also on ranks whose lists are right if another rank's
 * are not, or if two ranks do not expect of each other what they send), OMPL_ERR_RANK, OMPL_ERR_LENGTH, OMPL_ERR_MEMORY,
 * OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_halo_create(const ompl_halo_config* config, const ompl_halo_neighbor* neighbors,
                              size_t count, ompl_halo** halo);

/* Ends a halo, whose exchanges are complete; NULL is allowed, on every rank. Collective. Errors: those of ompl_free();
 * the halo is gone in any case. */
OMPL_API int ompl_halo_destroy(ompl_halo* halo);

/* ------------------------------------------------------------------------------------------------
 * Exchange
 */

/* Starts the next exchange: sends the elements of vectors[0 .. config.vectors - 1], which may be NULL on a rank that
 * sends nothing. The one before must be complete here and its data are lost. Double buffering never waits for a
 * neighbour here; OMPL_HALO_SINGLE and _ACKED wait until each has read its slot, and OMPL_HALO_MPI_PUT until each has
 * started, whatever the time.
 * After OMPL_ERR_TIMEOUT the exchange is half started: call again, with the same vectors. Further errors:
 * OMPL_ERR_STATE (the last one is not complete), OMPL_ERR_ARG, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_halo_start(ompl_ctx* ctx, ompl_halo* halo, const void* const* vectors,
                             int64_t timeout_ns);

/* 1 if the exchange started last is complete (an acquire), 0 if not, or an error. Drives progress. */
OMPL_API int ompl_halo_test(ompl_ctx* ctx, ompl_halo* halo);

/* Waits until the exchange started last is complete. Errors: OMPL_ERR_STATE, OMPL_ERR_TIMEOUT, OMPL_ERR_PEER,
 * OMPL_ERR_LINK. */
OMPL_API int ompl_halo_wait(ompl_ctx* ctx, ompl_halo* halo, int64_t timeout_ns);

/* Waits until data of at least one neighbour have arrived that no call has named yet in this exchange, and stores the numbers of all
 * such neighbours, as in the list given, in indices[0 .. *found - 1]; room for all neighbours. *found is 0 once all have been named
 * and the exchange is complete. Each is named once, to one thread. Errors: as ompl_halo_wait(). */
OMPL_API int ompl_halo_wait_some(ompl_ctx* ctx, ompl_halo* halo, size_t* indices, size_t* found,
                                 int64_t timeout_ns);

/* Where the elements that came from neighbour number `neighbor` for vector number `vector` lie, receive_count of them, in the exchange
 * started last; valid once they have arrived, until the next start. NULL if there is no such neighbour or vector. The
 * address is a multiple of 64 for vector 0; the vectors lie one behind the other. Any thread. */
OMPL_API const void* ompl_halo_data(const ompl_halo* halo, size_t neighbor, size_t vector);

/* Copies what came from a neighbour into vectors[0 .. config.vectors - 1] at its receive positions. It must have arrived. Any
 * thread. Error: OMPL_ERR_ARG. */
OMPL_API int ompl_halo_unpack(const ompl_halo* halo, size_t neighbor, void* const* vectors);

/* Writes what the halo uses, and of OMPL_HALO_AUTO, once it has decided, a table of what was measured: a line for each way, the
 * chosen one marked by `*`, with the microseconds of an exchange. As snprintf(): at most `size` bytes with the NUL at the end; returns
 * the length of the whole text. */
OMPL_API size_t ompl_halo_describe(const ompl_halo* halo, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_HALO_H */

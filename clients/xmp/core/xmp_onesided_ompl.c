/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning, end, order and completion; the window of MPI for distributed arrays. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "xmp_ompl.h"

/* What is under way: 0, or the one rank and the one thread that puts go to and come from, or kMany. */
static const uint64_t kMany = UINT64_MAX;
static _Atomic uint64_t under_way;
static atomic_bool window_used;

static MPI_Win window = MPI_WIN_NULL;
static bool* mapped;
static uint64_t probe; /* an allocation, by which one sees what is mapped, and where */
static pthread_t beginner;
static bool any_thread_calls_mpi;

void ompl_xmp_fatal(const char* what, const char* why) {
  char text[1024];
  snprintf(text, sizeof text, "%s: %s", what, why);
  _XMP_fatal(text);
}

void ompl_xmp_check(int code, const char* what) {
  if (code != OMPL_OK) ompl_xmp_fatal(what, ompl_error_detail());
}

uint64_t ompl_xmp_symmetric(size_t bytes, const char* what) {
  uint64_t offset = 0;
  ompl_xmp_check(ompl_alloc(bytes, &offset), what);
  return offset;
}

uint64_t ompl_xmp_offset_of(const void* address) {
  return probe +
         (uint64_t)((const char*)address - (const char*)ompl_ptr((uint32_t)_XMP_world_rank, probe));
}

bool ompl_xmp_mapped(uint32_t rank) { return mapped[rank]; }

static uint64_t signature(uint32_t rank) {
  static _Atomic uint32_t threads;
  static _Thread_local uint32_t thread;
  if (thread == 0) thread = atomic_fetch_add(&threads, 1) + 1;
  return (uint64_t)thread << 32 | (rank + 1);
}

/* Puts of one image to one variable take effect in the order of its statements, and its gets see them. Memory that is mapped
 * here is written and read by this very processor. */
void ompl_xmp_in_order(uint32_t rank, bool reads) {
  if (mapped[rank] || atomic_load_explicit(&under_way, memory_order_relaxed) == 0) return;
  ompl_xmp_check(reads ? ompl_ctx_flush_rank(OMPL_CTX_SHARED, rank, OMPL_FOREVER)
                       : ompl_ctx_fence(OMPL_CTX_DEFAULT, rank, OMPL_FOREVER),
                 "order of puts");
}

void ompl_xmp_has_put(uint32_t rank) {
  const uint64_t mine = signature(rank);
  const uint64_t before = atomic_load_explicit(&under_way, memory_order_relaxed);
  if (before == mine || before == kMany) return;
  atomic_store_explicit(&under_way, before == 0 ? mine : kMany, memory_order_relaxed);
}

void ompl_xmp_complete(void) {
  if (atomic_exchange_explicit(&under_way, 0, memory_order_relaxed) != 0)
    ompl_xmp_check(ompl_ctx_flush_rank(OMPL_CTX_SHARED, OMPL_ALL_RANKS, OMPL_FOREVER),
                   "completion of puts");
  else
    atomic_thread_fence(memory_order_seq_cst);
}

void ompl_xmp_before_signal(uint32_t rank) {
  const uint64_t now = atomic_load_explicit(&under_way, memory_order_relaxed);
  if (now != 0 && now != signature(rank)) ompl_xmp_complete();
}

MPI_Win ompl_xmp_window(void) { return window; }

static void to_window(bool put, char* local, int rank, MPI_Aint remote, size_t bytes) {
  const size_t most = 1U << 30; /* MPI counts in int */
  while (bytes > 0) {
    const int piece = (int)(bytes < most ? bytes : most);
    if (put)
      MPI_Put(local, piece, MPI_BYTE, rank, remote, piece, MPI_BYTE, window);
    else
      MPI_Get(local, piece, MPI_BYTE, rank, remote, piece, MPI_BYTE, window);
    local += piece;
    remote += piece;
    bytes -= (size_t)piece;
  }
  atomic_store(&window_used, true);
}

void ompl_xmp_window_put(const void* from, int rank, MPI_Aint to, size_t bytes) {
  to_window(true, (char*)(uintptr_t)from, rank, to, bytes);
}

void ompl_xmp_window_get(void* to, int rank, MPI_Aint from, size_t bytes) {
  to_window(false, to, rank, from, bytes);
}

void ompl_xmp_window_complete(void) {
  if (!atomic_exchange(&window_used, false)) return;
  MPI_Win_flush_all(window);
  MPI_Win_sync(window);
}

/* What this rank has begun by MPI (asynchronous reflect and gmove) goes on while it waits in the layer, as it would if it
 * waited in MPI: else a rank that waits here for a post and one that waits in MPI for this rank would wait for ever. A
 * long wait sleeps, and looks after MPI for some turns each time that the layer wakes it (0.1 s). */
static int serve_mpi(void* unused) {
  enum { kTurns = 200, kPause = 10000000 }; /* ns */
  static _Thread_local int turns;
  static _Thread_local int64_t before;
  struct timespec time;
  int found = 0;
  (void)unused;
  sched_yield();
  if (!any_thread_calls_mpi && !pthread_equal(pthread_self(), beginner)) return 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  turns = now - before > kPause ? kTurns : turns - (turns > 0);
  before = now;
  return turns > 0;
}

/* A program that asks libxmp for a large heap gets a segment that holds it. */
static void size_segment(size_t heap_size) {
  char text[32];
  if (heap_size <= (size_t)8 << 30) return; /* the default is twice that */
  snprintf(text, sizeof text, "%zuM", (heap_size >> 20) * 2);
  setenv("OMPL_SEGMENT_SIZE", text, 0);
}

OMPL_XMP_API void _XMP_mpi_onesided_initialize(const size_t heap_size) {
  int level = MPI_THREAD_SINGLE;
  size_segment(heap_size);
  ompl_xmp_check(ompl_init(), "the layer does not begin");
  if (ompl_rank() != _XMP_world_rank || ompl_size() != _XMP_world_size)
    ompl_xmp_fatal("the layer does not begin",
                   "its ranks are not those of MPI; start the job by MPI's launcher");
  ompl_xmp_check(ompl_accept_local(), "the layer does not begin");
  beginner = pthread_self();
  MPI_Query_thread(&level);
  any_thread_calls_mpi = level == MPI_THREAD_MULTIPLE;
  ompl_xmp_check(ompl_set_yield(&serve_mpi, NULL), "the layer does not begin");
  probe = ompl_xmp_symmetric(1, "the layer does not begin");
  mapped = _XMP_alloc((size_t)_XMP_world_size * sizeof *mapped);
  for (int rank = 0; rank < _XMP_world_size; ++rank)
    mapped[rank] = ompl_ptr((uint32_t)rank, probe) != NULL;
  /* Where a network needs its target's processor, other ranks must be served while this one computes or is in MPI. */
  if (ompl_node_size() != ompl_size() && getenv("OMPL_PROGRESS") == NULL)
    ompl_xmp_check(ompl_set_progress_thread(1), "no progress thread");
  if (ompl_xmp_tasks_begin != NULL) ompl_xmp_tasks_begin();
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
}

OMPL_XMP_API void _XMP_mpi_onesided_finalize(void) {
  ompl_xmp_window_complete();
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  ompl_xmp_complete();
  if (ompl_xmp_tasks_end != NULL) ompl_xmp_tasks_end();
  if (ompl_finalize() != OMPL_OK)
    fprintf(stderr, "[RANK:%d] XcalableMP over OmniPGAS: the layer ends with an error: %s\n",
            _XMP_world_rank, ompl_error_detail());
  _XMP_free(mapped);
  mapped = NULL;
}

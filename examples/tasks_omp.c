/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of two ranks joined by dependencies, as in figure 4 of the OMPL paper: a task of rank 0 writes a
 * chunk of rank 1's A; a task there depends on it, doubles it and writes it back, for a third task. Far
 * more tasks wait than there are threads, so none may block its thread in ompl_wait (GCC's taskyield does
 * nothing): an arrival is a task with a `detach` event that a loop over ompl_poll fulfils.
 *
 *   OMP_NUM_THREADS=2 omplrun -n 2 ./tasks_omp
 */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include "require.h"

enum { CHUNKS = 20, LENGTH = 4096 }; /* 3 tasks a chunk: GCC holds a thread that has made 64 of them */
struct chunk {
  uint32_t data[LENGTH];
  uint32_t flag; /* counts arrivals */
};
static uint32_t rank;
static struct chunk* a; /* this rank's A */
static uint64_t a_addr; /* and where it stands in every rank's segment */
static omp_event_handle_t arrival[CHUNKS];
static atomic_int awaited[CHUNKS], wrong;

static uint64_t flag_of(uint32_t i) { return a_addr + i * sizeof *a + offsetof(struct chunk, flag); }
static void send(uint32_t i) { /* this rank's copy of the data over the other's */
  const uint64_t src = (uint64_t)(uintptr_t)a[i].data, dest = a_addr + i * sizeof *a;
  require(ompl_put_signal(src, 1 - rank, dest, sizeof a[i].data, flag_of(i)), "ompl_put_signal");
}

static void produce(uint32_t i) {
  for (uint32_t k = 0; k < LENGTH; ++k) a[i].data[k] = i + k;
  send(i);
}
static void consume(uint32_t i) {
  for (uint32_t k = 0; k < LENGTH; ++k) {
    if (a[i].data[k] != (2 - rank) * (i + k)) wrong = 1;
    a[i].data[k] *= 2;
  }
  if (rank == 1) send(i);
}

static void* progress(void* unused) {
  for (int done = 0; done < CHUNKS; sched_yield())
    for (uint32_t i = 0; i < CHUNKS; ++i) {
      if (!awaited[i] || !require(ompl_poll(flag_of(i)), "ompl_poll")) continue;
      require(ompl_wait(flag_of(i)), "ompl_wait"); /* takes the signal, at once */
      awaited[i] = 0;
      omp_fulfill_event(arrival[i]);
      ++done;
    }
  return unused;
}

int main(void) {
  pthread_t loop;
  require(ompl_init(), "ompl_init");
  rank = (uint32_t)ompl_rank();
  require(ompl_size() == 2 ? 0 : OMPL_ERR_RANK, "tasks_omp needs two ranks");
  require(ompl_alloc(CHUNKS * sizeof *a, &a_addr), "ompl_alloc");
  a = ompl_ptr(rank, a_addr);
  require(pthread_create(&loop, NULL, progress, NULL) ? OMPL_ERR_SYSTEM : 0, "pthread_create");
#pragma omp parallel
#pragma omp single
  for (uint32_t i = 0; i < CHUNKS; ++i) {
    omp_event_handle_t event;
#pragma omp task depend(out : a[i])
    if (rank == 0) produce(i);
#pragma omp task depend(out : a[i]) detach(event)
    awaited[i] = (arrival[i] = event, 1); /* ends once the event is fulfilled */
#pragma omp task depend(in : a[i])
    consume(i);
  }
  pthread_join(loop, NULL);
  printf("rank %u: %d chunks arrived %s\n", rank, CHUNKS, wrong ? "wrong" : "right");
  require(ompl_finalize(), "ompl_finalize");
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

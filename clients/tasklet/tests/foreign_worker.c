/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags for what are no tasks of the library, in C: a chain of puts between two ranks, each begun by a callback; then tasks of the
 * library by OpenMP's threads. */
#include <omnipgas/tasklet_openmp.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 200 };
static uint32_t rank;
static uint64_t offset;
static uint64_t* word;
static sem_t finished;
static ompl_tasklet_tag_watch watch;
static uint32_t step;

static void require(int code, const char* what) {
  if (code >= 0) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, what, ompl_tasklet_strerror(code));
  exit(1);
}

/* Rank 0 puts step after step, once rank 1 is ready for it. */
static void may_put(void* unused, int code) {
  (void)unused;
  require(code, "tag of the putting rank");
  const uint64_t value = 1000 + step;
  require(ompl_put((uint64_t)(uintptr_t)&value, 1, offset, sizeof value), "ompl_put");
  require(ompl_tasklet_tag_signal(OMPL_TASKLET_PUT, 1, step), "tag_signal");
  if (++step == STEPS) {
    sem_post(&finished);
  } else {
    require(ompl_tasklet_tag_then(&watch, OMPL_TASKLET_PUT, 1, step, may_put, NULL), "tag_then");
  }
}

static void has_come(void* unused, int code) {
  (void)unused;
  require(code, "tag of the receiving rank");
  if (*word != 1000 + step) require(-1, "a wrong number");
  if (++step == STEPS) {
    sem_post(&finished);
    return;
  }
  require(ompl_tasklet_tag_then(&watch, OMPL_TASKLET_PUT_READY, 0, step, has_come, NULL), "tag_then");
  require(ompl_tasklet_tag_signal(OMPL_TASKLET_PUT_READY, 0, step), "tag_signal");
}

static void misuse(void) {
  ompl_tasklet_tag_watch other;
  const int32_t kind = rank == 0 ? OMPL_TASKLET_PUT : OMPL_TASKLET_PUT_READY;
  if (ompl_tasklet_tag_then(&other, kind, 0, 4096, may_put, NULL) != OMPL_TASKLET_ERR_TAG ||
      ompl_tasklet_tag_then(&other, kind, 2, 0, may_put, NULL) != OMPL_ERR_RANK ||
      ompl_tasklet_tag_then(&other, OMPL_TASKLET_IN, 0, 0, may_put, NULL) != OMPL_ERR_ARG ||
      ompl_tasklet_tag_signal(kind, 0, 4096) != OMPL_TASKLET_ERR_TAG)
    require(-1, "misuse is found");
}

static int add(void* number) {
  *(int*)number += 1;
  return 0;
}
static int first_task(void* number) {
  ompl_tasklet_dependence dependence = {OMPL_TASKLET_INOUT, 0, 0, number};
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = add;
  spec.argument = number;
  spec.dependences = &dependence;
  spec.dependence_count = 1;
  for (int i = 0; i < 100; ++i) require(ompl_tasklet_create(&spec), "ompl_tasklet_create");
  return ompl_tasklet_wait_all();
}

int main(void) {
  int number = 0;
  require(ompl_init(), "ompl_init");
  rank = (uint32_t)ompl_rank();
  require(ompl_tasklet_init(NULL), "ompl_tasklet_init");
  require(ompl_alloc(sizeof *word, &offset), "ompl_alloc");
  word = ompl_ptr(rank, offset);
  sem_init(&finished, 0, 0);
  misuse();
  require(ompl_tasklet_serve(1), "ompl_tasklet_serve");
  if (rank == 0) {
    require(ompl_tasklet_tag_then(&watch, OMPL_TASKLET_PUT, 1, 0, may_put, NULL), "tag_then");
  } else {
    require(ompl_tasklet_tag_then(&watch, OMPL_TASKLET_PUT_READY, 0, 0, has_come, NULL), "tag_then");
    require(ompl_tasklet_tag_signal(OMPL_TASKLET_PUT_READY, 0, 0), "tag_signal");
  }
  while (sem_wait(&finished) != 0) {
  }
  require(ompl_tasklet_serve(0), "ompl_tasklet_serve");
  require(ompl_tasklet_run_openmp(first_task, &number), "ompl_tasklet_run_openmp");
  require(number == 100 ? 0 : -1, "100 tasks");
  require(ompl_tasklet_finalize(), "ompl_tasklet_finalize");
  require(ompl_finalize(), "ompl_finalize");
  return 0;
}

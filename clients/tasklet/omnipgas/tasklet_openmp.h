/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks across nodes and OpenMP; compiled with the program, by its OpenMP.
 *
 * ompl_tasklet_run_openmp() has the threads of a parallel region run the tasks, in place of threads of the library.
 * ompl_tasklet_detach() lets an OpenMP task of the program's own (depend, detach) wait for a tag: its event is fulfilled
 * once the tag was signalled.
 */
#ifndef OMNIPGAS_TASKLET_OPENMP_H
#define OMNIPGAS_TASKLET_OPENMP_H

#include <omnipgas/tasklet.h>
#include <omp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ompl_tasklet_run() by the threads of an OpenMP parallel region, of which one is the calling thread. If OpenMP gives fewer
 * threads than the configuration says, these do. Outside a parallel region. Errors: as ompl_tasklet_run(). */
static inline int ompl_tasklet_run_openmp(ompl_tasklet_fn function, void* argument) {
  int code = ompl_tasklet_open(function, argument);
  if (code != OMPL_OK) return code;
  int worked = OMPL_ERR_STATE;
#pragma omp parallel num_threads(ompl_tasklet_threads()) default(none) shared(worked)
  {
    const int own = ompl_tasklet_work();
    if (own == OMPL_OK) {
#pragma omp atomic write
      worked = OMPL_OK;
    }
  }
  code = ompl_tasklet_close();
  return worked != OMPL_OK ? worked : code;
}

/* One wait of an OpenMP task; the caller's, untouched until the task is over. */
typedef struct ompl_tasklet_detached {
  ompl_tasklet_tag_watch watch;
  omp_event_handle_t event;
  int code; /* how the wait ended, for the tasks that depend on it */
} ompl_tasklet_detached;

static inline void ompl_tasklet_fulfil(void* detached, int code) {
  ompl_tasklet_detached* const own = (ompl_tasklet_detached*)detached;
  own->code = code;
  omp_fulfill_event(own->event);
}

/* Within an OpenMP task with `detach(event)`: the task is over once the tag was signalled for `kind`, as for
 * ompl_tasklet_tag_then(). If that fails the task is over at once. Somebody has to make progress: ompl_tasklet_serve(1). */
static inline int ompl_tasklet_detach(ompl_tasklet_detached* detached, omp_event_handle_t event,
                                      int32_t kind, uint32_t rank, uint32_t tag) {
  detached->event = event;
  detached->code = OMPL_OK;
  const int code =
      ompl_tasklet_tag_then(&detached->watch, kind, rank, tag, ompl_tasklet_fulfil, detached);
  if (code != OMPL_OK) ompl_tasklet_fulfil(detached, code);
  return code;
}

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_TASKLET_OPENMP_H */

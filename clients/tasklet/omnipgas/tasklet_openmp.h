/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks across nodes and OpenMP; compiled with the program, by its OpenMP.
 *
 * ompl_tasklet_run_openmp() has the threads of a parallel region run the tasks, in place of threads of the library.
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

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_TASKLET_OPENMP_H */

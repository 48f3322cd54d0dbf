/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of OpenMP, as GCC compiles them, over clients/tasklet. The Omni compiler translates "tasklets" to "omp parallel" with
 * "omp single", "tasklet" to "omp task" with depend, and "taskletwait" to "omp taskwait". The functions below are those of
 * libgomp that GCC calls for these; a program that is linked with this library before libgomp runs such tasks here, where a
 * wait in a task suspends the task and not its thread.
 *
 * A parallel region has one member, which runs in the first task; the threads of the rank run the tasks that it makes.
 * Source of the interface: libgomp's ABI as its manual and GCC's calls show it (GOMP_task: GCC 12, 13).
 */
#define OMPL_XMP_TASKS_DEFINED
#include <omnipgas/tasklet.h>
#include <stdlib.h>
#include <string.h>

#include "xmp_tasks.h"

enum { kFinal = 2, kDepend = 8, kDetach = 1 << 13, kMostDependences = 64 };

typedef void (*Function)(void* data);
typedef void (*Copy)(void* to, void* from);

OMPL_XMP_API void GOMP_parallel(Function function, void* data, unsigned threads, unsigned flags);
OMPL_XMP_API bool GOMP_single_start(void);
OMPL_XMP_API void GOMP_barrier(void);
OMPL_XMP_API void GOMP_taskwait(void);
OMPL_XMP_API void GOMP_task(Function function, void* data, Copy copy, long size, long alignment,
                            bool deferred, unsigned flags, void** depend, int priority, void* detach);

typedef struct {
  Function function;
  void* data;
} Region;

static int run_region(void* argument) {
  const Region* const region = argument;
  region->function(region->data);
  return ompl_tasklet_wait();
}

void GOMP_parallel(Function function, void* data, unsigned threads, unsigned flags) {
  Region region = {function, data};
  (void)threads;
  (void)flags;
  if (!ompl_xmp_has_tasks()) { /* before the layer begins, or after its end */
    function(data);
    return;
  }
  if (ompl_tasklet_self() != NULL) {
    ompl_xmp_tasks_check(run_region(&region), "a parallel region");
    return;
  }
  ompl_xmp_tasks_check(ompl_tasklet_run(&run_region, &region), "a parallel region");
}

bool GOMP_single_start(void) { return true; }

void GOMP_taskwait(void) {
  if (ompl_tasklet_self() != NULL) ompl_xmp_tasks_check(ompl_tasklet_wait(), "taskwait");
}

void GOMP_barrier(void) { GOMP_taskwait(); }

/* depend[0] != 0: that many addresses from depend[2] on, the first depend[1] of them out or inout, the others in. Else depend[1]
 * addresses from depend[5] on, depend[2] of them out or inout, then depend[3] mutexinoutset, depend[4] in. */
static size_t read_depend(void** depend, ompl_tasklet_dependence* dependences) {
  const bool old = depend[0] != NULL;
  const size_t count = (size_t)(uintptr_t)(old ? depend[0] : depend[1]);
  const size_t outs =
      (size_t)(uintptr_t)(old ? depend[1] : depend[2]) + (old ? 0 : (size_t)(uintptr_t)depend[3]);
  const size_t ins = old ? count - outs : (size_t)(uintptr_t)depend[4];
  void** const addresses = depend + (old ? 2 : 5);
  if (count > kMostDependences || outs + ins != count)
    ompl_xmp_tasks_check(OMPL_ERR_ARG, "a task has more than 64 dependences, or depobj among them");
  for (size_t i = 0; i < count; ++i)
    dependences[i] =
        (ompl_tasklet_dependence){i < outs ? OMPL_TASKLET_OUT : OMPL_TASKLET_IN, 0, 0, addresses[i]};
  return count;
}

typedef struct {
  Function function;
  void* memory; /* that the data lie in */
  void* data;
} Task;

static int run_task(void* argument) {
  const Task* const task = argument;
  task->function(task->data);
  return 0;
}

static void release_task(void* argument) { free(((Task*)argument)->memory); }

/* A copy of the data for the task, aligned. */
static Task make(Function function, void* data, Copy copy, long size, long alignment) {
  const uintptr_t mask = (uintptr_t)alignment - 1;
  Task task = {function, malloc((size_t)size + mask + 1), NULL};
  if (task.memory == NULL) ompl_xmp_tasks_check(OMPL_ERR_MEMORY, "a task");
  task.data = (void*)(((uintptr_t)task.memory + mask) & ~mask);
  if (copy != NULL)
    copy(task.data, data);
  else if (size > 0)
    memcpy(task.data, data, (size_t)size);
  return task;
}

void GOMP_task(Function function, void* data, Copy copy, long size, long alignment, bool deferred,
               unsigned flags, void** depend, int priority, void* detach) {
  ompl_tasklet_dependence dependences[kMostDependences];
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  (void)detach;
  if ((flags & kDetach) != 0) ompl_xmp_tasks_check(OMPL_ERR_UNSUPPORTED, "a task with detach");
  Task task = make(function, data, copy, size, alignment > 0 ? alignment : 1);
  if (ompl_tasklet_self() == NULL || (flags & kFinal) != 0) {
    GOMP_taskwait(); /* what it may depend on */
    run_task(&task);
    release_task(&task);
    return;
  }
  spec.function = &run_task;
  spec.argument = &task;
  spec.argument_length = sizeof task;
  spec.dependences = dependences;
  spec.dependence_count = (flags & kDepend) != 0 ? read_depend(depend, dependences) : 0;
  spec.priority = priority;
  spec.release = &release_task;
  ompl_xmp_tasks_check(ompl_tasklet_create(&spec), "a task");
  if (!deferred) GOMP_taskwait();
}

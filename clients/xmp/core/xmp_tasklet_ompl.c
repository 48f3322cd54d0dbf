/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of the tasklet runtime of the Omni compiler's branch xmp2 (libxmp2/cholesky_task/tasklet.h) over
 * clients/tasklet, in place of its own one over Argobots. Tasks are known by their functions and addresses; nothing of that
 * runtime's source is used.
 */
#define OMPL_XMP_TASKS_DEFINED
#include <omnipgas/tasklet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xmp_tasks.h"

enum { kMostArguments = 20, kMostDependences = 40, kStackBytes = 1 << 20 };

typedef void (*TaskletFunction)(void** arguments);

typedef struct {
  TaskletFunction function;
  void* arguments[kMostArguments];
} Call;

/* That runtime's interface. */
OMPL_XMP_API extern int _xmp_num_xstreams;
OMPL_XMP_API void tasklet_initialize(int argc, char* argv[]);
OMPL_XMP_API void tasklet_exec_main(TaskletFunction function);
OMPL_XMP_API void tasklet_finalize(void);
OMPL_XMP_API void tasklet_create(TaskletFunction function, int argument_count, void** arguments,
                                 int in_count, void** in, int out_count, void** out);
OMPL_XMP_API void tasklet_wait_all(void);
OMPL_XMP_API void tasklet_yield(void);
OMPL_XMP_API int xmp_num_threads(void);
OMPL_XMP_API int xmp_thread_num(void);

int _xmp_num_xstreams = 0; /* threads that run tasks; programs print it */
static bool began_layer, began_tasks;

void ompl_xmp_tasks_check(int code, const char* what) {
  if (code >= 0) return;
  fprintf(stderr, "XcalableMP's tasks: %s: %s (%s)\n", what, ompl_tasklet_strerror(code),
          ompl_error_detail());
  ompl_abort(1, "an error in XcalableMP's tasks");
}

/* Threads of a rank: XMP_NUM_THREADS, else OMP_NUM_THREADS, else 0: one for each core. */
static int wanted_threads(void) {
  const char* text = getenv("XMP_NUM_THREADS");
  if (text == NULL) text = getenv("OMP_NUM_THREADS");
  const long number = text == NULL ? 0 : strtol(text, NULL, 10);
  return number < 0 || number > 1024 ? 0 : (int)number;
}

void ompl_xmp_tasks_begin(void) {
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  if (began_tasks) return;
  config.threads = wanted_threads();
  config.stack_bytes = kStackBytes;
  ompl_xmp_tasks_check(ompl_tasklet_init(&config), "they do not begin");
  began_tasks = true;
  _xmp_num_xstreams = ompl_tasklet_threads();
}

void ompl_xmp_tasks_end(void) {
  if (began_tasks) ompl_xmp_tasks_check(ompl_tasklet_finalize(), "they do not end");
  began_tasks = false;
}

bool ompl_xmp_has_tasks(void) { return began_tasks; }

bool ompl_xmp_task_wait(uint64_t flag) {
  if (ompl_tasklet_self() == NULL) return false;
  ompl_xmp_tasks_check(ompl_tasklet_wait_flag(flag), "wait");
  return true;
}

/* In a program of XcalableMP both have begun. */
void tasklet_initialize(int argc, char* argv[]) {
  (void)argc;
  (void)argv;
  if (began_tasks) return;
  ompl_xmp_tasks_check(ompl_init(), "the layer does not begin");
  began_layer = true;
  ompl_xmp_tasks_begin();
}

void tasklet_finalize(void) {
  if (!began_layer) return;
  ompl_xmp_tasks_end();
  ompl_xmp_tasks_check(ompl_finalize(), "the layer does not end");
  began_layer = false;
}

static int first(void* argument) {
  TaskletFunction function;
  void* unused = NULL;
  memcpy(&function, argument, sizeof function);
  function(&unused);
  return 0;
}

void tasklet_exec_main(TaskletFunction function) {
  ompl_xmp_tasks_check(ompl_tasklet_run(&first, &function), "the first task");
}

static int run(void* argument) {
  Call* const call = argument;
  call->function(call->arguments);
  return 0;
}

void tasklet_create(TaskletFunction function, int argument_count, void** arguments, int in_count,
                    void** in, int out_count, void** out) {
  Call call = {function, {NULL}};
  ompl_tasklet_dependence dependences[kMostDependences];
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  if (argument_count < 0 || argument_count > kMostArguments || in_count < 0 || out_count < 0 ||
      in_count + out_count > kMostDependences)
    ompl_xmp_tasks_check(OMPL_ERR_ARG, "tasklet_create takes up to 20 arguments and 40 dependences");
  for (int i = 0; i < argument_count; ++i) call.arguments[i] = arguments[i];
  for (int i = 0; i < in_count; ++i)
    dependences[i] = (ompl_tasklet_dependence){OMPL_TASKLET_IN, 0, 0, in[i]};
  for (int i = 0; i < out_count; ++i)
    dependences[in_count + i] = (ompl_tasklet_dependence){OMPL_TASKLET_OUT, 0, 0, out[i]};
  spec.function = &run;
  spec.argument = &call;
  spec.argument_length = sizeof call;
  spec.dependences = dependences;
  spec.dependence_count = (size_t)(in_count + out_count);
  ompl_xmp_tasks_check(ompl_tasklet_create(&spec), "tasklet_create");
}

void tasklet_wait_all(void) { ompl_xmp_tasks_check(ompl_tasklet_wait(), "tasklet_wait_all"); }

void tasklet_yield(void) { ompl_xmp_tasks_check(ompl_tasklet_yield(), "tasklet_yield"); }

int xmp_num_threads(void) { return _xmp_num_xstreams; }

/* 0 for the thread that asks first, and so on. */
int xmp_thread_num(void) {
  static atomic_int threads;
  static _Thread_local int number = -1;
  if (number < 0) number = atomic_fetch_add(&threads, 1);
  return number;
}

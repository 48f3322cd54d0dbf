/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks across nodes: tasks of one rank that depend on each other by local memory, and on tasks of other ranks by tags.
 * Design: docs/explanation/tasklet.md. Errors are those of ompl.h and OMPL_TASKLET_ERR_*.
 *
 * Tasks. ompl_tasklet_run() runs a function as the first task of this rank; a task makes other tasks by
 * ompl_tasklet_create(). A task is over when its function has returned and all tasks that it made are over.
 *
 * Waiting. Within a task, the functions of the chapter "Waiting in a task" look as if they block. They suspend the task:
 * its thread runs other tasks meanwhile, and the task may go on in another thread. So a task must not hold a mutex, nor use
 * the address of a thread-local variable, across such a call. A task that waits for its dependences holds no stack.
 *
 * Errors of tasks. A task fails if its function returns a negative value, if a C++ exception leaves it, or if a task that
 * it depends on failed, here or at another rank; in the last case its function is not run. The other tasks go on.
 * ompl_tasklet_wait() and ompl_tasklet_run() return the first error of the tasks that they wait for.
 */
#ifndef OMNIPGAS_TASKLET_H
#define OMNIPGAS_TASKLET_H

#include <omnipgas/coll.h>
#include <omnipgas/ompl_calls.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  OMPL_TASKLET_AGAIN = 1,            /* result of a task's function: see ompl_tasklet_resume() */
  OMPL_TASKLET_ERR_FAILED = -100,    /* a task of another rank failed that this one depends on */
  OMPL_TASKLET_ERR_EXCEPTION = -101, /* a C++ exception left the function of a task */
  OMPL_TASKLET_ERR_TAG = -102,     /* a tag is out of range, or two tasks of this rank use it at once */
  OMPL_TASKLET_ERR_DEADLOCK = -103 /* checked mode: nobody will ever satisfy what the task waits for */
};

/* ------------------------------------------------------------------------------------------------
 * Beginning and end
 */

/* Begin with OMPL_TASKLET_CONFIG_INIT. `tags` and `checked` are the same on every rank. */
typedef struct ompl_tasklet_config {
  size_t size;     /* of this struct */
  int32_t threads; /* that run tasks, 1 .. 1024; 0: one for each core of the rank */
  uint32_t
      tags; /* tags are 0 .. tags - 1; each takes 8 bytes of the segment for each rank of the job */
  size_t stack_bytes; /* of a task, at least 16384 */
  uint32_t stacks;    /* once so many are in use, tasks that were suspended go on before others begin */
  int32_t checked;    /* 1: find waits that nobody will ever satisfy (docs/how-to/tasklet.md) */
} ompl_tasklet_config;
#define OMPL_TASKLET_CONFIG_INIT \
  { sizeof(ompl_tasklet_config), 0, 4096, 262144, 16384, 0 }

/* Begins the use of tasks; `config` NULL: OMPL_TASKLET_CONFIG_INIT. Collective, after ompl_init(). Errors: OMPL_ERR_STATE,
 * OMPL_ERR_ARG, OMPL_ERR_MEMORY (no room for the tags in the segment, on every rank), OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_tasklet_init(const ompl_tasklet_config* config);

/* Ends it, before ompl_finalize(), when no task is left. Collective. Errors: OMPL_ERR_STATE, OMPL_ERR_PEER, OMPL_ERR_LINK. */
OMPL_API int ompl_tasklet_finalize(void);

/* The name of a result, also of those of ompl.h; static storage. Any thread. */
OMPL_API const char* ompl_tasklet_strerror(int code);

/* ------------------------------------------------------------------------------------------------
 * Tasks
 */

/* What a task does. Returns 0, a negative error, or OMPL_TASKLET_AGAIN. */
typedef int (*ompl_tasklet_fn)(void* argument);

/* How a task depends on others. */
enum {
  OMPL_TASKLET_IN = 0,    /* reads the memory at `address`: after the last task before that writes it */
  OMPL_TASKLET_OUT = 1,   /* writes it: after that one, and after all that read it since */
  OMPL_TASKLET_INOUT = 2, /* both; the same as OUT */
  OMPL_TASKLET_PUT =
      3, /* begins once `rank` has a task with PUT_READY of the tag, tells it at its end */
  OMPL_TASKLET_PUT_READY =
      4, /* tells `rank` that it may put; begins once the task there with PUT is over */
  OMPL_TASKLET_GET =
      5, /* begins once `rank` has run a task with GET_READY of the tag, tells it at its end */
  OMPL_TASKLET_GET_READY =
      6 /* at its end tells `rank` that it may get; is over once the task there with GET is */
};

typedef struct ompl_tasklet_dependence {
  int32_t kind;        /* OMPL_TASKLET_IN, ... */
  uint32_t rank;       /* of tags: the other one */
  uint32_t tag;        /* of tags */
  const void* address; /* of memory: equal addresses are the same memory, others are not looked into */
} ompl_tasklet_dependence;

/* A task to be made. Begin with OMPL_TASKLET_SPEC_INIT. */
typedef struct ompl_tasklet_spec {
  size_t size; /* of this struct */
  ompl_tasklet_fn function;
  const void*
      argument; /* length 0: given to the function as it is; else these bytes are copied for the task, */
  size_t argument_length; /* aligned to 16 */
  const ompl_tasklet_dependence* dependences;
  size_t dependence_count;
  int32_t priority; /* higher ones first; 0: none; -7 .. 7, others count as the nearest of these */
  const char* name; /* for reports, NULL: none; must stay */
  void (*release)(
      void* argument); /* NULL: none. Called when the task is over, also if its function was not run */
} ompl_tasklet_spec;
#define OMPL_TASKLET_SPEC_INIT \
  { sizeof(ompl_tasklet_spec), NULL, NULL, 0, NULL, 0, 0, NULL, NULL }

/* Makes a task, a child of the calling one. Memory dependences are among the children of one task, in the order of their
 * creation. A tag is of two ranks: the same number with another rank is another tag. At any time a rank has at most one task that waits
 * for a tag as PUT or GET, and one as PUT_READY or GET_READY; a task beyond that fails with OMPL_TASKLET_ERR_TAG. Does not block. Errors: OMPL_ERR_STATE (not within a task),
 * OMPL_ERR_ARG, OMPL_ERR_RANK, OMPL_TASKLET_ERR_TAG, OMPL_ERR_MEMORY. */
OMPL_API int ompl_tasklet_create(const ompl_tasklet_spec* spec);

/* Runs `function` as the first task, by the calling thread and others of a work-stealing executor, as many as `threads`
 * of the configuration. Returns when the task is over: its error, or OMPL_OK. One thread at a time. Local. Errors: OMPL_ERR_STATE,
 * OMPL_ERR_MEMORY, OMPL_ERR_SYSTEM (no thread can be started). */
OMPL_API int ompl_tasklet_run(ompl_tasklet_fn function, void* argument);

/* The same for an executor that has threads of its own: open, then work by up to `threads` threads at once, then close by
 * the thread that opened (tasklet_openmp.h does so). Open makes the first task. Work runs tasks until the first task is over.
 * Close returns its error. */
OMPL_API int ompl_tasklet_open(ompl_tasklet_fn function, void* argument);

/* Runs tasks until the first task is over. Errors: OMPL_ERR_STATE (nothing is open, or `threads` threads work already, or this
 * one does), OMPL_ERR_MEMORY. */
OMPL_API int ompl_tasklet_work(void);

/* Ends what ompl_tasklet_open() began, when every ompl_tasklet_work() has returned. Errors: that of the first task,
 * OMPL_ERR_STATE. */
OMPL_API int ompl_tasklet_close(void);

/* The number of threads that run tasks, or OMPL_ERR_STATE. Any thread. */
OMPL_API int ompl_tasklet_threads(void);

/* ------------------------------------------------------------------------------------------------
 * Waiting in a task
 *
 * Each returns OMPL_OK or the error of the operation, or OMPL_ERR_STATE if the caller is no task.
 */

/* Until the tasks that this one has made are over. Returns the first error of those that ended since the last call; tasks made
 * later depend on none of them. */
OMPL_API int ompl_tasklet_wait(void);

/* The distributed wait: until the children of the calling task are over on every rank. The first task of every rank calls it.
 * Returns an error at every rank if there was one at any. Uses tag 3 of the team of all ranks. */
OMPL_API int ompl_tasklet_wait_all(void);

/* Lets other tasks that are ready go first. */
OMPL_API int ompl_tasklet_yield(void);

/* ompl_put() and ompl_get() on the context of the task. */
OMPL_API int ompl_tasklet_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                              size_t length);
/* Copies from (target_rank, dest_addr) to src_addr; see ompl_get(). */
OMPL_API int ompl_tasklet_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                              size_t length);

/* Puts and then signals a flag, on the context of the task. */
OMPL_API int ompl_tasklet_put_signal(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                                     size_t length, uint64_t flag_addr);

/* Until the condition holds for a flag of this rank; OMPL_TAKE takes. */
OMPL_API int ompl_tasklet_wait_until(const ompl_condition* condition);

/* Until the flag is positive; takes one, as ompl_wait() does. */
OMPL_API int ompl_tasklet_wait_flag(uint64_t flag_addr);

/* Until the operation is complete. */
OMPL_API int ompl_tasklet_wait_handle(ompl_handle* handle);

/* Until a collective is complete that was started with a request; *request becomes NULL, unless it is persistent. */
OMPL_API int ompl_tasklet_wait_request(ompl_request** request);

/* Until the function has run at the target; *reply receives its value. See ompl_call(). */
OMPL_API int ompl_tasklet_call(uint32_t target_rank, const ompl_call_request* request, uint64_t* reply);

/* ------------------------------------------------------------------------------------------------
 * Tasks without a stack, and the context of a task
 */

typedef struct ompl_tasklet ompl_tasklet;

/* The calling task; NULL if there is none. */
OMPL_API ompl_tasklet* ompl_tasklet_self(void);

/* The function of a task may return OMPL_TASKLET_AGAIN: the task is then not over, and its function is called again after
 * ompl_tasklet_resume(task) was called, once for each return, before or after it; by any thread, also from a callback of
 * the layer. So a task waits without a stack; the coroutines of tasklet.hpp are made of it. */
OMPL_API int ompl_tasklet_resume(ompl_tasklet* task);

/* The context of the calling task, its own until it ends. What is put by it is visible before the task tells others by
 * tags that it is over. OMPL_CTX_DEFAULT if there is no task or no memory for a context. */
OMPL_API ompl_ctx* ompl_tasklet_context(void);

/* ------------------------------------------------------------------------------------------------
 * Tasks of another runtime
 */

/* Signals a tag: as PUT or GET does at its end, or as PUT_READY or GET_READY does to let the other rank go on, by `kind`.
 * On the calling thread's implicit context. May block as ompl_put_word() does. Any thread. */
OMPL_API int ompl_tasklet_tag_signal(int32_t kind, uint32_t rank, uint32_t tag);

/* Memory for one ompl_tasklet_tag_then(); the caller's, untouched until its callback is called. */
typedef struct ompl_tasklet_tag_watch {
  ompl_watch watch;
  uint64_t opaque[6];
} ompl_tasklet_tag_watch;

/* Has `callback(arg, code)` called once `rank` has signalled the tag for `kind`: for PUT or GET that the other rank is ready, for
 * PUT_READY or GET_READY that the put or get there is over. Called by whoever makes progress: a thread that runs tasks,
 * or that of ompl_tasklet_serve(). Errors: OMPL_TASKLET_ERR_TAG, OMPL_ERR_ARG, OMPL_ERR_STATE. */
OMPL_API int ompl_tasklet_tag_then(ompl_tasklet_tag_watch* watch, int32_t kind, uint32_t rank,
                                   uint32_t tag, ompl_callback_fn callback, void* arg);

/* 1: starts a thread that sleeps in the layer and calls what is due (callbacks of the layer and of tags); 0: ends it.
 * For programs whose tasks are another runtime's. Errors: OMPL_ERR_STATE, OMPL_ERR_SYSTEM. */
OMPL_API int ompl_tasklet_serve(int on);

/* ------------------------------------------------------------------------------------------------
 * Reports
 */

/* Writes who waits for what at this rank, at most `capacity` bytes with the final 0, a line for each task that has
 * begun to wait. Returns the length of the whole text. Any thread. Also part of the layer's hang report. */
OMPL_API size_t ompl_tasklet_report(char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_TASKLET_H */

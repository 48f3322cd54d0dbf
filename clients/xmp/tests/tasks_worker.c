/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasklet runtime's interface, and tasks of OpenMP as GCC compiles them, over this project's tasks; no Omni compiler needed. */
#include <omnipgas/tasklet.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/xmp_tasks.h"

typedef void (*TaskletFunction)(void** arguments);
void tasklet_initialize(int argc, char* argv[]);
void tasklet_exec_main(TaskletFunction function);
void tasklet_finalize(void);
void tasklet_create(TaskletFunction function, int argument_count, void** arguments, int in_count,
                    void** in, int out_count, void** out);
void tasklet_wait_all(void);
void tasklet_yield(void);
int xmp_num_threads(void);
int xmp_thread_num(void);

enum { kSteps = 500, kReaders = 20, kWaits = 300 };

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

static long value;
static long copies[kReaders];
static char place_of_value, places[kReaders];

static void step(void** arguments) {
  EXPECT(value == (long)(intptr_t)arguments[0]);
  EXPECT(xmp_thread_num() >= 0);
  tasklet_yield();
  ++value;
}

static void copy(void** arguments) { *(long*)arguments[0] = value; }

/* Writers one after the other; then readers at once, then a writer again. */
static void chain(void** unused) {
  (void)unused;
  void* out[] = {&place_of_value};
  for (long i = 0; i < kSteps; ++i) {
    void* arguments[] = {(void*)(intptr_t)i};
    tasklet_create(&step, 1, arguments, 0, NULL, 1, out);
  }
  for (int i = 0; i < kReaders; ++i) {
    void *arguments[] = {&copies[i]}, *own[] = {&places[i]};
    tasklet_create(&copy, 1, arguments, 1, out, 1, own);
  }
  void* last[] = {(void*)(intptr_t)kSteps};
  tasklet_create(&step, 1, last, 0, NULL, 1, out);
  tasklet_wait_all();
  EXPECT(value == kSteps + 1);
  for (int i = 0; i < kReaders; ++i) EXPECT(copies[i] == kSteps);
}

static void openmp_chain(void) {
  long sum = 0, before = 0;
  atomic_long ours = 0;
#pragma omp parallel shared(sum, before, ours)
#pragma omp single
  {
    for (long i = 0; i < kSteps; ++i) {
#pragma omp task depend(inout : sum) firstprivate(i)
      {
        if (ompl_tasklet_self() != NULL) ++ours;
        sum = sum % 1000003 * 3 + i;
      }
#pragma omp task depend(in : sum) depend(out : before) firstprivate(i)
      before = i + (sum < 0);
    }
#pragma omp taskwait
    EXPECT(before == kSteps - 1);
#pragma omp task if (0)
    before = -1;
    EXPECT(before == -1);
  }
  long expected = 0;
  for (long i = 0; i < kSteps; ++i) expected = expected % 1000003 * 3 + i;
  EXPECT(sum == expected);
  EXPECT(ours == kSteps); /* libgomp did not run them */
}

/* Far more tasks wait for the other rank than there are threads, in an order that no thread could keep by blocking. */
static void waits(uint64_t flags) {
  const uint32_t next = ((uint32_t)ompl_rank() + 1) % (uint32_t)ompl_size();
  atomic_int arrived = 0;
#pragma omp parallel shared(arrived)
#pragma omp single
  {
    for (int i = 0; i < kWaits; ++i)
#pragma omp task firstprivate(i) shared(arrived)
    {
      EXPECT(ompl_xmp_task_wait(flags + 4 * (uint64_t)i));
      ++arrived;
      if (i > 0) EXPECT(ompl_put_word(next, flags + 4 * (uint64_t)(i - 1)) == OMPL_OK);
    }
#pragma omp task
    EXPECT(ompl_put_word(next, flags + 4 * (uint64_t)(kWaits - 1)) == OMPL_OK);
  }
  EXPECT(arrived == kWaits);
}

int main(int argc, char* argv[]) {
  uint64_t flags = 0;
  EXPECT(!ompl_xmp_task_wait(0)); /* no task */
  EXPECT(ompl_init() == OMPL_OK && ompl_alloc(4 * kWaits, &flags) == OMPL_OK);
  ompl_xmp_tasks_begin();
  tasklet_initialize(argc, argv); /* changes nothing */
  EXPECT(xmp_num_threads() == atoi(getenv("XMP_NUM_THREADS")));
  tasklet_exec_main(&chain);
  openmp_chain();
  waits(flags);
  tasklet_finalize(); /* leaves what it has not begun */
  ompl_xmp_tasks_end();
  EXPECT(ompl_finalize() == OMPL_OK);
  return 0;
}

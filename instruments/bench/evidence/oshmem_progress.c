// SPDX-License-Identifier: BSD-3-Clause
/* Which calls of Open MPI's OpenSHMEM let it go on with what others ask of it: counts how often each of 1,000 calls enters
 * opal_progress, from which all its workers are driven. Without code of this project.
 *
 *   oshcc -rdynamic oshmem_progress.c -o oshmem_progress
 *   oshrun -n 2 oshmem_progress
 *
 * Open MPI 4.1.4 of Debian 12: shmem_test, shmem_fence and shmem_quiet never (the first quiet of a context a few times),
 * MPI_Iprobe always. So a rank that looks at a flag by shmem_test does not take its peer's request for a connection,
 * without which the peer's first put does not return: both wait for ever.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

enum { CALLS = 1000 };

static unsigned long entered;

void opal_progress(void);
void opal_progress(void) {
  static void (*next)(void);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "opal_progress");
  ++entered;
  next();
}

static void say(const char* call) {
  if (shmem_my_pe() == 0) printf("%s: %lu\n", call, entered);
  entered = 0;
}

int main(void) {
  int granted = 0;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted) != 0 || granted < SHMEM_THREAD_MULTIPLE)
    return 2;
  uint64_t* const flag = shmem_calloc(1, sizeof *flag);
  shmem_ctx_t context;
  if (shmem_ctx_create(0, &context) != 0) return 3;
  shmem_barrier_all();
  entered = 0;
  for (int i = 0; i < CALLS; ++i) shmem_uint64_test(flag, SHMEM_CMP_GE, 1);
  say("shmem_test");
  for (int i = 0; i < CALLS; ++i) shmem_fence();
  say("shmem_fence");
  for (int i = 0; i < CALLS; ++i) shmem_quiet();
  say("shmem_quiet");
  for (int i = 0; i < CALLS; ++i) shmem_ctx_quiet(context);
  say("shmem_ctx_quiet");
  for (int i = 0, there = 0; i < CALLS; ++i)
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  say("MPI_Iprobe");
  shmem_barrier_all();
  shmem_global_exit(0);
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a program that knows nothing of MPI: MPI is initialised before its main() and finalized after it.
 * MPI_START_LEVEL is the thread level to ask for, one letter: s(ingle), f(unneled), (seriali)z(ed), else multiple. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int level_wanted(void) {
  const char* name = getenv("MPI_START_LEVEL");
  switch (name == NULL ? 'm' : name[0]) {
    case 's':
      return MPI_THREAD_SINGLE;
    case 'f':
      return MPI_THREAD_FUNNELED;
    case 'z':
      return MPI_THREAD_SERIALIZED;
    default:
      return MPI_THREAD_MULTIPLE;
  }
}

static pid_t g_process;

__attribute__((constructor)) static void start(void) {
  const int wanted = level_wanted();
  int granted = 0;
  if (MPI_Init_thread(NULL, NULL, wanted, &granted) != MPI_SUCCESS || granted != wanted) {
    printf("skipped: MPI grants thread level %d for %d\n", granted, wanted);
    fflush(stdout);
    _exit(77);
  }
  g_process = getpid();
}

__attribute__((destructor)) static void end(void) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (!ended && getpid() == g_process) MPI_Finalize();
}

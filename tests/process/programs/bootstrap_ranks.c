/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap_ranks STEP...: a rank that does the steps of bootstrap_steps.h, with those of MPI in between
 * (init, barrier, finalize) when it is compiled by an mpicc with -DWITH_MPI. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap_steps.h"

#ifdef WITH_MPI
#include <mpi.h>

static int mpi_step(const char* step) {
  if (strcmp(step, "init") == 0) return MPI_Init(NULL, NULL) == MPI_SUCCESS;
  if (strcmp(step, "barrier") == 0) return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS;
  if (strcmp(step, "finalize") == 0) return MPI_Finalize() == MPI_SUCCESS;
  return 0;
}
#else
/* Of an MPI that "load:LIBRARY" has loaded for this program alone, as Python loads modules. */
static void* mpi_library;

static int mpi_step(const char* step) {
  if (strncmp(step, "load:", 5) == 0) {
    mpi_library = dlopen(step + 5, RTLD_NOW | RTLD_LOCAL);
    if (mpi_library == NULL) fprintf(stderr, "%s\n", dlerror());
    return mpi_library != NULL;
  }
  if (mpi_library == NULL) return 0;
  if (strcmp(step, "init") == 0) {
    int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(mpi_library, "MPI_Init");
    return init != NULL && init(NULL, NULL) == 0;
  }
  if (strcmp(step, "finalize") == 0) {
    int (*finalize)(void) = (int (*)(void))dlsym(mpi_library, "MPI_Finalize");
    return finalize != NULL && finalize() == 0;
  }
  return 0;
}
#endif

static int child_step(const char* step, const char* program) {
  if (strcmp(step, "child") == 0) { /* a program that a rank starts is told that it is none */
    char command[4096];
    snprintf(command, sizeof command, "%s open", program);
    const int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 3;
  }
  if (strcmp(step, "fork") == 0) { /* the end of a child is no rank's end */
    int status = -1;
    const pid_t child = fork();
    if (child == 0) exit(0);
    return waitpid(child, &status, 0) == child && status == 0;
  }
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!bootstrap_step(argv[i]) && !mpi_step(argv[i]) && !child_step(argv[i], argv[0])) {
      fprintf(stderr, "bootstrap_ranks: no step %s\n", argv[i]);
      return 2;
    }
  }
  return 0;
}

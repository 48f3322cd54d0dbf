/* SPDX-License-Identifier: BSD-3-Clause */
/* bootstrap_ranks STEP...: a rank that does the steps of bootstrap_steps.h, with those of MPI in between
 * (init, barrier, finalize) when it is compiled by an mpicc with -DWITH_MPI. */
#include <stdio.h>

#include "bootstrap_steps.h"

#ifdef WITH_MPI
#include <mpi.h>
#include <string.h>

static int mpi_step(const char* step) {
  if (strcmp(step, "init") == 0) return MPI_Init(NULL, NULL) == MPI_SUCCESS;
  if (strcmp(step, "barrier") == 0) return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS;
  if (strcmp(step, "finalize") == 0) return MPI_Finalize() == MPI_SUCCESS;
  return 0;
}
#else
static int mpi_step(const char* step) {
  (void)step;
  return 0;
}
#endif

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!bootstrap_step(argv[i]) && !mpi_step(argv[i])) {
      fprintf(stderr, "bootstrap_ranks: no step %s\n", argv[i]);
      return 2;
    }
  }
  return 0;
}

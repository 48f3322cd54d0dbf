// SPDX-License-Identifier: BSD-3-Clause
/* Nonblocking reduce-scatters of one double, one after the other, each waited for at once. Without code of this project.
 *
 *   mpicc async_reduce_scatter.c -o async_reduce_scatter
 *   mpiexec -n 2 async_reduce_scatter COUNT   says "COUNT reduce-scatters are right"
 *
 * Intel MPI 2021.18, I_MPI_ADJUST_IREDUCE_SCATTER_BLOCK=2:
 *   without a thread of its own                right
 *   I_MPI_ASYNC_PROGRESS=1                     ends within a second: "Error in system call pthread_mutex_lock: Invalid argument",
 *                                              then "MPI_Barrier(MPI_COMM_WORLD) failed ... Invalid communicator"
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int level, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = argc > 1 ? atoi(argv[1]) : 20000;
  double* const terms = calloc((size_t)ranks, sizeof *terms);
  if (terms == NULL) return 1;
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    MPI_Request request;
    for (int to = 0; to < ranks; ++to) terms[to] = rank + i + to;
    MPI_Ireduce_scatter_block(terms, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (sum != ranks * (i + rank) + ranks * (ranks - 1) / 2) {
      printf("rank %d: reduce-scatter %d gave %g\n", rank, i, sum);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("%d reduce-scatters are right\n", count);
  free(terms);
  MPI_Finalize();
  return 0;
}

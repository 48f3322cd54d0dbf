/* SPDX-License-Identifier: BSD-3-Clause
 * halo N STEPS: heat on a torus of N x N points, in bands of rows; each step swaps the edge rows with both neighbours. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double sum(const double* grid, int rows, int n) {
  double own = 0, all = 0;
  for (int i = n; i < (rows + 1) * n; ++i) own += grid[i];
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 100;
  const int rows = n / ranks, up = (rank + ranks - 1) % ranks, down = (rank + 1) % ranks;
  if (rows < 1 || n % ranks != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  double* now =
      calloc((size_t)(rows + 2) * (size_t)n, sizeof *now); /* a row of a neighbour above and below */
  double* next = calloc((size_t)(rows + 2) * (size_t)n, sizeof *next);
  for (int i = n; i < (rows + 1) * n; ++i) now[i] = (rank * rows * n + i) % 101;
  const double before = sum(now, rows, n), begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(now, n, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(now + (rows + 1) * n, n, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(now + rows * n, n, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(now + n, n, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 1; i <= rows; ++i)
      for (int j = 0; j < n; ++j) {
        const double around = now[(i - 1) * n + j] + now[(i + 1) * n + j] + now[i * n + (j + 1) % n] +
                              now[i * n + (j + n - 1) % n];
        next[i * n + j] = 0.5 * now[i * n + j] + 0.125 * around;
      }
    double* swap = now;
    now = next;
    next = swap;
  }
  const double seconds = MPI_Wtime() - begin, after = sum(now, rows, n);
  if (rank == 0) printf("%d steps in %.6f s, heat %.3f and %.3f\n", steps, seconds, before, after);
  MPI_Finalize();
  return fabs(after - before) < 1e-9 * before ? 0 : 1;
}

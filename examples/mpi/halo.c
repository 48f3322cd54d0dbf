// SPDX-License-Identifier: BSD-3-Clause
// Jacobi steps on a grid in two dimensions, its edges exchanged without blocking: halo [N [STEPS]]
//
// Each rank has N by N points. A product of sines is multiplied by one factor in each step, which is the check.
#include <math.h>
#include <string.h>

#include "timed.h"

static int n;

static double* point(double* grid, int row, int column) {
  return grid + (size_t)row * (n + 2) + column;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, place[2];
  n = argument(argc, argv, 1, 1, 256);
  int steps = argument(argc, argv, 2, 1, 200);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dims);
  MPI_Comm grid_comm;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid_comm);
  MPI_Comm_rank(grid_comm, &rank);
  MPI_Cart_coords(grid_comm, rank, 2, place);
  int above, below, left, right;
  MPI_Cart_shift(grid_comm, 0, 1, &above, &below);
  MPI_Cart_shift(grid_comm, 1, 1, &left, &right);
  MPI_Datatype column;
  MPI_Type_vector(n, 1, n + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  const double pi = acos(-1), dx = pi / (dims[1] * n + 1), dy = pi / (dims[0] * n + 1);
  double* now = calloc((size_t)(n + 2) * (n + 2), sizeof *now);
  double* next = calloc((size_t)(n + 2) * (n + 2), sizeof *next);
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= n; ++j)
      *point(now, i, j) = sin((place[0] * n + i) * dy) * sin((place[1] * n + j) * dx);

  begin_timed();
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[8];
    MPI_Irecv(point(now, 0, 1), n, MPI_DOUBLE, above, 0, grid_comm, &requests[0]);
    MPI_Irecv(point(now, n + 1, 1), n, MPI_DOUBLE, below, 1, grid_comm, &requests[1]);
    MPI_Irecv(point(now, 1, 0), 1, column, left, 2, grid_comm, &requests[2]);
    MPI_Irecv(point(now, 1, n + 1), 1, column, right, 3, grid_comm, &requests[3]);
    MPI_Isend(point(now, n, 1), n, MPI_DOUBLE, below, 0, grid_comm, &requests[4]);
    MPI_Isend(point(now, 1, 1), n, MPI_DOUBLE, above, 1, grid_comm, &requests[5]);
    MPI_Isend(point(now, 1, n), 1, column, right, 2, grid_comm, &requests[6]);
    MPI_Isend(point(now, 1, 1), 1, column, left, 3, grid_comm, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 1; i <= n; ++i)
      for (int j = 1; j <= n; ++j)
        *point(next, i, j) = 0.25 * (*point(now, i - 1, j) + *point(now, i + 1, j) +
                                     *point(now, i, j - 1) + *point(now, i, j + 1));
    double* kept = now;
    now = next;
    next = kept;
  }
  double seconds = end_timed();

  double factor = pow((cos(dx) + cos(dy)) / 2, steps), error = 0;
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= n; ++j)
      error = fmax(error, fabs(*point(now, i, j) -
                               factor * sin((place[0] * n + i) * dy) * sin((place[1] * n + j) * dx)));
  char what[100];
  snprintf(what, sizeof what, "halo n=%d ranks=%d steps=%d", n, ranks, steps);
  MPI_Type_free(&column);
  MPI_Comm_free(&grid_comm);
  free(now), free(next);
  return conclude(what, seconds, error < 1e-10);
}

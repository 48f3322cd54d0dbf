/* SPDX-License-Identifier: BSD-3-Clause
 * gauss N [FRAGMENT]: solves N equations by Gaussian elimination over rows dealt out in turn. Each pivot row, up to
 * 8 (N + 1) bytes, goes around the ring of ranks by MPI_Send; FRAGMENT cuts it into messages of that many bytes at most. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, fragment = 1 << 30;

/* Passes what `owner` has around the ring. */
static void pass(double* data, int count, int owner) {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const int most = fragment / (int)sizeof *data;
  for (int at = 0; at < count; at += most) {
    const int length = count - at < most ? count - at : most;
    if (rank != owner)
      MPI_Recv(data + at, length, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (next != owner) MPI_Send(data + at, length, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
  }
}

/* The equations: row i has i + j + 1 modulo 7 at j, and a heavy diagonal; the solution is 1, 2, ... */
static double coefficient(int i, int j, int n) { return (i + j + 1) % 7 + (i == j ? 8.0 * n : 0.0); }

static void fill(double* rows, int n) {
  for (int i = rank; i < n; i += ranks) {
    double* row = rows + (size_t)(i / ranks) * (size_t)(n + 1);
    row[n] = 0;
    for (int j = 0; j < n; ++j) row[n] += (row[j] = coefficient(i, j, n)) * (j + 1);
  }
}

static void eliminate(double* rows, double* pivot, int n) {
  for (int k = 0; k < n; ++k) {
    double* own = rows + (size_t)(k / ranks) * (size_t)(n + 1);
    double* row = rank == k % ranks ? own : pivot;
    pass(row + k, n + 1 - k, k % ranks);
    for (int i = rank; i < n; i += ranks) {
      if (i <= k) continue;
      double* below = rows + (size_t)(i / ranks) * (size_t)(n + 1);
      const double factor = below[k] / row[k];
      for (int j = k; j <= n; ++j) below[j] -= factor * row[j];
    }
  }
}

/* Each unknown goes around, the last one first; returns how far the solution is off. */
static double substitute(double* rows, int n) {
  double worst = 0;
  for (int k = n - 1; k >= 0; --k) {
    const double* own = rows + (size_t)(k / ranks) * (size_t)(n + 1);
    double x = rank == k % ranks ? own[n] / own[k] : 0;
    pass(&x, 1, k % ranks);
    worst = fmax(worst, fabs(x - (k + 1)));
    for (int i = rank; i < k; i += ranks) {
      double* row = rows + (size_t)(i / ranks) * (size_t)(n + 1);
      row[n] -= row[k] * x;
    }
  }
  return worst;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? atoi(argv[1]) : 256;
  if (argc > 2) fragment = atoi(argv[2]);
  if (n < 1 || fragment < (int)sizeof(double)) MPI_Abort(MPI_COMM_WORLD, 2);
  double* rows = malloc(sizeof(double) * (size_t)(n / ranks + 1) * (size_t)(n + 1));
  double* pivot = malloc(sizeof(double) * (size_t)(n + 1));
  fill(rows, n);
  const double begin = MPI_Wtime();
  eliminate(rows, pivot, n);
  const double error = substitute(rows, n);
  if (rank == 0) printf("%d equations in %.6f s, off by %.1e\n", n, MPI_Wtime() - begin, error);
  MPI_Finalize();
  return error < 1e-6 ? 0 : 1;
}

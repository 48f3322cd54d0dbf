/* SPDX-License-Identifier: BSD-3-Clause
 * transpose N ROUNDS: a matrix of N x N in bands of rows is transposed; in each step every rank swaps a block with another. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? atoi(argv[1]) : 256, rounds = argc > 2 ? atoi(argv[2]) : 10;
  const int rows = n / ranks, block = rows * rows;
  if (rows < 1 || n % ranks != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  double* matrix = malloc(sizeof *matrix * (size_t)rows * (size_t)n);
  double* out = malloc(sizeof *out * (size_t)block);
  double* in = malloc(sizeof *in * (size_t)block);
  for (int i = 0; i < rows * n; ++i) matrix[i] = rank * rows * n + i; /* each element is its number */
  const double begin = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    for (int step = 0; step < ranks; ++step) {
      const int peer = (step - rank + ranks) % ranks; /* whose peer in this step is this rank */
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < rows; ++j) out[j * rows + i] = matrix[i * n + peer * rows + j];
      MPI_Sendrecv(out, block, MPI_DOUBLE, peer, round, in, block, MPI_DOUBLE, peer, round,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < rows; ++j) matrix[i * n + peer * rows + j] = in[i * rows + j];
    }
  }
  const double seconds = MPI_Wtime() - begin;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) {
      const int row = rank * rows + i;
      wrong |= matrix[i * n + j] != (rounds % 2 == 0 ? row * n + j : j * n + row);
    }
  if (rank == 0) printf("%d transpositions of %d x %d in %.6f s\n", rounds, n, n, seconds);
  MPI_Finalize();
  return wrong;
}

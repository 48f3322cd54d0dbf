// SPDX-License-Identifier: BSD-3-Clause
// Transposes a matrix that lies by rows: transpose [N [TIMES [messages|alltoall]]]
//
// Each rank has N / ranks rows; a block goes to each other rank, by messages of its own or by MPI_Alltoall.
#include <string.h>

#include "timed.h"

static int rank, ranks, rows;

static void by_messages(const double* from, double* to, int block) {
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  for (int i = 0; i < ranks; ++i) {
    int source = (rank + ranks - i) % ranks;
    MPI_Irecv(to + (size_t)source * block, block, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < ranks; ++i) {
    int target = (rank + i) % ranks;
    MPI_Isend(from + (size_t)target * block, block, MPI_DOUBLE, target, 0, MPI_COMM_WORLD,
              &requests[ranks + i]);
  }
  MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

// Block by block of rows by rows, each transposed, from rows of the matrix, and back without transposing.
static void pack(const double* matrix, double* blocks) {
  for (int b = 0; b < ranks; ++b)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < rows; ++j)
        blocks[((size_t)b * rows + j) * rows + i] = matrix[(size_t)i * rows * ranks + b * rows + j];
}
static void unpack(const double* blocks, double* matrix) {
  for (int b = 0; b < ranks; ++b)
    for (int i = 0; i < rows; ++i)
      memcpy(matrix + (size_t)i * rows * ranks + b * rows, blocks + ((size_t)b * rows + i) * rows,
             (size_t)rows * sizeof *matrix);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int n = argument(argc, argv, 1, ranks, 512) / ranks * ranks, times = argument(argc, argv, 2, 1, 10);
  const char* how = argc > 3 ? argv[3] : "messages";
  int collective = strcmp(how, "alltoall") == 0;
  if (!collective && strcmp(how, "messages") != 0) {
    fprintf(stderr, "%s: %s is neither messages nor alltoall\n", argv[0], how);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  rows = n / ranks;
  const size_t size = (size_t)rows * n;
  double *matrix = malloc(size * sizeof *matrix), *out = malloc(size * sizeof *out),
         *in = malloc(size * sizeof *in);
  for (size_t i = 0; i < size; ++i) matrix[i] = (double)(rank * size + i);

  begin_timed();
  for (int time = 0; time < times; ++time) {
    pack(matrix, out);
    if (collective)
      MPI_Alltoall(out, rows * rows, MPI_DOUBLE, in, rows * rows, MPI_DOUBLE, MPI_COMM_WORLD);
    else
      by_messages(out, in, rows * rows);
    unpack(in, matrix);
  }
  double seconds = end_timed();

  int right = 1;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) {
      double row = rank * rows + i, column = j;
      right &= matrix[(size_t)i * n + j] == (times % 2 == 1 ? column * n + row : row * n + column);
    }
  char what[100];
  snprintf(what, sizeof what, "transpose n=%d ranks=%d times=%d %s", n, ranks, times, how);
  free(matrix), free(out), free(in);
  return conclude(what, seconds, right);
}

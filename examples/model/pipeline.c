/* SPDX-License-Identifier: BSD-3-Clause
 * pipeline BLOCKS LENGTH: blocks of LENGTH numbers pass through all ranks, each of which works on them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 50 };

static long worked_on(long number, int stage) {
  for (int round = 0; round < kRounds; ++round) number = (number * 3 + stage) % 1000003;
  return number;
}

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int blocks = argc > 1 ? atoi(argv[1]) : 100, length = argc > 2 ? atoi(argv[2]) : 1000;
  const int previous = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int next = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  long* data = malloc(sizeof *data * (size_t)length);
  const double begin = MPI_Wtime();
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < length && rank == 0; ++i) data[i] = block + i;
    MPI_Recv(data, length, MPI_LONG, previous, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i) data[i] = worked_on(data[i], rank);
    MPI_Send(data, length, MPI_LONG, next, block, MPI_COMM_WORLD);
  }
  const double seconds = MPI_Wtime() - begin;
  for (int i = 0; i < length && rank == ranks - 1; ++i) { /* of the last block */
    long expected = blocks - 1 + i;
    for (int stage = 0; stage < ranks; ++stage) expected = worked_on(expected, stage);
    wrong |= data[i] != expected;
  }
  if (rank == ranks - 1)
    printf("%d blocks in %.6f s%s\n", blocks, seconds, wrong ? ", which is wrong" : "");
  MPI_Finalize();
  return wrong;
}

// SPDX-License-Identifier: BSD-3-Clause
// eager BYTES...: says for each whether a message of that length is sent before its receive is posted: "BYTES 0" or 1.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double kPatience =
    0.3;  // seconds; a receiver that waits for something else makes progress

static int is_sent(char* data, int bytes) {
  MPI_Request request;
  int done = 0;
  MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  for (double end = MPI_Wtime() + kPatience; MPI_Wtime() < end && !done;)
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  return done;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // The first message makes the connection.
  MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 2, &(int){0}, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 1; i < argc; ++i) {
    int bytes = atoi(argv[i]);
    char* data = calloc(1, (size_t)bytes);
    if (rank == 0) {
      printf("%d %d\n", bytes, is_sent(data, bytes));
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
  }
  MPI_Finalize();
  return 0;
}

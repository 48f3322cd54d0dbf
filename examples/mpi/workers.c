// SPDX-License-Identifier: BSD-3-Clause
// A master hands out pieces of an integral, of uneven work, to whichever worker is done: workers [PIECES [POINTS]]
#include <math.h>

#include "timed.h"

static const int kStop = -1;

static double piece_of_pi(int piece, int pieces, int points) {
  double sum = 0, width = 1.0 / pieces / points;
  for (int i = 0; i < points; ++i) {
    double x = ((double)piece / pieces) + (i + 0.5) * width;
    sum += 4 / (1 + x * x) * width;
  }
  return sum;
}

// Each worker's first result is a zero that asks for work.
static double hand_out(int pieces, int workers) {
  double sum = 0;
  for (int next = 0, working = workers; working > 0;) {
    double result;
    MPI_Status status;
    MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    sum += result;
    int piece = next < pieces ? next++ : kStop;
    working -= piece == kStop;
    MPI_Send(&piece, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
  }
  return sum;
}

static void work(int pieces, int points) {
  double result = 0;
  for (int piece = 0;;) {
    MPI_Send(&result, 1, MPI_DOUBLE, 0, piece, MPI_COMM_WORLD);
    MPI_Recv(&piece, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (piece == kStop) return;
    result = piece_of_pi(piece, pieces, points * (1 + piece % 4));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int pieces = argument(argc, argv, 1, 1, 1000), points = argument(argc, argv, 2, 1, 10000);
  if (ranks < 2) {
    fprintf(stderr, "%s: needs a worker: 2 ranks or more\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  begin_timed();
  double pi = 0;
  if (rank == 0)
    pi = hand_out(pieces, ranks - 1);
  else
    work(pieces, points);
  double seconds = end_timed();
  double allowed = 1.0 / pieces / points / pieces / points + 1e-12;
  char what[100];
  snprintf(what, sizeof what, "workers pieces=%d ranks=%d points=%d", pieces, ranks, points);
  return conclude(what, seconds, rank != 0 || fabs(pi - acos(-1)) < allowed);
}

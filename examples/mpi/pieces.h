// SPDX-License-Identifier: BSD-3-Clause
// Blocking messages that are cut so that none needs synchronization (LogGPS paper, section 4.4).
#pragma once

#include <mpi.h>

// A message of count doubles, in pieces if it is longer than `cut` bytes; 0: in one.
static void in_pieces(double* data, int count, int cut, int peer, int sends) {
  int most = cut == 0 || count * (int)sizeof *data <= cut ? count : cut / (int)sizeof *data;
  for (int at = 0; at < count; at += most) {
    int now = count - at < most ? count - at : most;
    if (sends)
      MPI_Send(data + at, now, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(data + at, now, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Messages there and back. On 2 ranks, whose clocks trace_test.py has set apart. */
#include "expect.h"

int main(void) {
  int data = 0;
  expect_init(MPI_THREAD_SINGLE);
  for (int i = 0; i < 200; ++i) {
    if (i % 2 == rank_) {
      MPI_Ssend(&data, 1, MPI_INT, 1 - rank_, i, MPI_COMM_WORLD);
      expect_message("Ssend", 1 - rank_, i, 4, "");
    } else {
      MPI_Recv(&data, 1, MPI_INT, 1 - rank_, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect_message("Recv", 1 - rank_, i, 4, "");
    }
  }
  expect_finalize();
  return 0;
}

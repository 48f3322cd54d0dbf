/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: communication by MPI goes on while its rank waits for posts and images, and the other way round; no phases. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmp.h>

#define SIZE (1 << 20)
#define ROUNDS 10

#pragma xmp nodes p[*]
int mail[16]:[*];
int from[16];
int bad = 0;

int main() {
  int me = xmpc_this_image(), size = xmp_num_images();
  int *message = malloc(SIZE * sizeof(int));
  for (int round = 0; round < ROUNDS; round++) {
    int sum = me;
    if (me == 0) { /* its message must arrive before the other one posts */
      MPI_Request request;
      for (int i = 0; i < SIZE; i++) message[i] = round + i;
      MPI_Isend(message, SIZE, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
#pragma xmp wait (p[1], 3)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (me == 1) {
      MPI_Recv(message, SIZE, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < SIZE; i++) bad += message[i] != round + i;
#pragma xmp post (p[0], 3)
    }
    /* The last image is in a barrier of MPI while the first puts there and gets from there. */
    from[0] = 11 * round;
    if (me == 0) {
      mail[5]:[size - 1] = from[0];
      from[1] = mail[5]:[size - 1];
      bad += from[1] != 11 * round;
      xmp_sync_memory(NULL);
    }
#pragma xmp barrier
    if (me == size - 1) bad += mail[5] != 11 * round;
#pragma xmp reduction(+:sum)
    bad += sum != size * (size - 1) / 2;
  }
#pragma xmp reduction(+:bad)
  if (me == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  free(message);
  return bad != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: the last image is killed while the others wait for its post; they must end with an error, not wait forever. */
#include <stdio.h>
#include <xmp.h>

int raise(int signal);

#pragma xmp nodes p[*]
int box:[*];

int main() {
  int me = xmpc_this_image(), last = xmp_num_images() - 1;
  if (me == 0) {
    printf("waits\n");
    fflush(stdout);
  }
  xmp_sync_all(NULL);
  if (me == last) raise(9);
#pragma xmp wait (p[last], 5)
  printf("PASS of an image that should not get here\n");
  return 0;
}

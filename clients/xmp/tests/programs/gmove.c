/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: gmove in and gmove out between arrays that are distributed in different ways, whole and in part, one image moving for all. */
#include <stdio.h>
#include <xmp.h>

#define N 60
#define ROUNDS 20

#pragma xmp nodes p[*]
#pragma xmp template t[N]
#pragma xmp distribute t[block] onto p
#pragma xmp template u[N]
#pragma xmp distribute u[cyclic] onto p
int a[N];
int b[N];
#pragma xmp align a[i] with t[i]
#pragma xmp align b[i] with u[i]
int bad = 0;

void fill(int round) {
#pragma xmp loop (i) on t[i]
  for (int i = 0; i < N; i++) a[i] = -1;
#pragma xmp loop (i) on u[i]
  for (int i = 0; i < N; i++) b[i] = 1000 * round + i;
#pragma xmp barrier
}

int main() {
  for (int round = 0; round < ROUNDS; round++) {
    fill(round);
#pragma xmp gmove in
    a[:] = b[:];
#pragma xmp barrier
#pragma xmp loop (i) on t[i] reduction(+:bad)
    for (int i = 0; i < N; i++) bad += a[i] != 1000 * round + i;

    fill(round);
#pragma xmp gmove out
    a[10:20] = b[0:20:2];
#pragma xmp barrier
#pragma xmp loop (i) on t[i] reduction(+:bad)
    for (int i = 0; i < N; i++) bad += a[i] != (i < 10 || i >= 30 ? -1 : 1000 * round + 2 * (i - 10));
  }
  if (xmpc_this_image() == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  return bad != 0;
}

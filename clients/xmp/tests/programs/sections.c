/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: puts and gets of random sections, against the same assignments on a model that every image has. */
#include <stdio.h>
#include <stdlib.h>
#include <xmp.h>

#define N 9
#define ROUNDS 1500

#pragma xmp nodes p[*]
int a[N][N][N]:[*];
int b[N][N][N], c[N][N][N], model[N][N][N], line[N * N * N];
int start[2][3], length[3], stride[2][3];
int bad = 0;
unsigned int state = 1;

int below(int limit) {
  state = state * 1103515245u + 12345u;
  return (int)((state >> 16) % (unsigned int)limit);
}

/* Draws two sections of equal lengths, each within N. */
void choose() {
  for (int d = 0; d < 3; d++) {
    length[d] = 1 + below(N);
    for (int side = 0; side < 2; side++) {
      int most = length[d] == 1 ? 3 : (N - 1) / (length[d] - 1);
      stride[side][d] = 1 + below(most < 3 ? most : 3);
      start[side][d] = below(N - (length[d] - 1) * stride[side][d]);
    }
  }
}

int at(int side, int d, int i) { return start[side][d] + i * stride[side][d]; }

int total() { return length[0] * length[1] * length[2]; }

/* What round puts to image 1: from a section (0), a line (1), one element (2). */
void put_model(int kind) {
  int number = 0;
  for (int i = 0; i < length[0]; i++)
    for (int j = 0; j < length[1]; j++)
      for (int k = 0; k < length[2]; k++) {
        int value = b[at(1, 0, i)][at(1, 1, j)][at(1, 2, k)];
        if (kind == 1) value = line[number];
        if (kind == 2) value = b[2][3][4];
        model[at(0, 0, i)][at(0, 1, j)][at(0, 2, k)] = value;
        number++;
      }
}

void put(int kind) {
  int n = total();
  if (kind == 0)
    a[start[0][0]:length[0]:stride[0][0]][start[0][1]:length[1]:stride[0][1]][start[0][2]:length[2]:stride[0][2]]:[1]
      = b[start[1][0]:length[0]:stride[1][0]][start[1][1]:length[1]:stride[1][1]][start[1][2]:length[2]:stride[1][2]];
  if (kind == 1)
    a[start[0][0]:length[0]:stride[0][0]][start[0][1]:length[1]:stride[0][1]][start[0][2]:length[2]:stride[0][2]]:[1]
      = line[0:n];
  if (kind == 2)
    a[start[0][0]:length[0]:stride[0][0]][start[0][1]:length[1]:stride[0][1]][start[0][2]:length[2]:stride[0][2]]:[1]
      = b[2][3][4];
}

void get(int kind) {
  int n = total(), number = 0;
  if (kind == 0)
    c[start[1][0]:length[0]:stride[1][0]][start[1][1]:length[1]:stride[1][1]][start[1][2]:length[2]:stride[1][2]]
      = a[start[0][0]:length[0]:stride[0][0]][start[0][1]:length[1]:stride[0][1]][start[0][2]:length[2]:stride[0][2]]:[1];
  if (kind == 1)
    line[0:n]
      = a[start[0][0]:length[0]:stride[0][0]][start[0][1]:length[1]:stride[0][1]][start[0][2]:length[2]:stride[0][2]]:[1];
  if (kind == 2)
    c[start[1][0]:length[0]:stride[1][0]][start[1][1]:length[1]:stride[1][1]][start[1][2]:length[2]:stride[1][2]]
      = a[2][3][4]:[1];
  for (int i = 0; i < length[0]; i++)
    for (int j = 0; j < length[1]; j++)
      for (int k = 0; k < length[2]; k++) {
        int value = c[at(1, 0, i)][at(1, 1, j)][at(1, 2, k)];
        int wanted = model[at(0, 0, i)][at(0, 1, j)][at(0, 2, k)];
        if (kind == 1) value = line[number];
        if (kind == 2) wanted = model[2][3][4];
        if (value != wanted) bad++;
        number++;
      }
}

void compare(int round) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        if (a[i][j][k] != model[i][j][k]) {
          if (bad == 0) fprintf(stderr, "round %d: a[%d][%d][%d] is %d, not %d\n", round, i, j, k, a[i][j][k], model[i][j][k]);
          bad++;
        }
}

int main() {
  int me = xmpc_this_image();
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++) a[i][j][k] = model[i][j][k] = -1;
  xmp_sync_all(NULL);
  for (int round = 0; round < ROUNDS; round++) {
    int kind = round % 3;
    choose();
    for (int i = 0; i < N * N * N; i++) line[i] = 1000000 + round * 1000 + i;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) b[i][j][k] = round * 1000 + (i * N + j) * N + k;
    put_model(kind);
    if (me == 0) {
      put(kind);
      get(below(3)); /* sees the put before it */
    } else {
      below(3);
    }
    xmp_sync_all(NULL);
    if (me == 1) compare(round);
    xmp_sync_all(NULL);
  }
#pragma xmp reduction(+:bad)
  if (me == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  return bad != 0;
}

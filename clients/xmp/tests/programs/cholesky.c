/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XMP/C with tasklets: Cholesky factorisation of NT x NT tiles, tile (i, k) at image (i + k) % images. An image that has computed
 * a tile puts it to all others and posts; a task there waits for the post. With more tasks that wait than threads it
 * ends only if a wait suspends its task.
 */
#include <stdio.h>
#include <xmp.h>

#define NT 8
#define TS 24

#pragma xmp nodes p[*]
double sqrt(double), fabs(double); /* the compiler cannot read glibc's math.h */

double tile[NT][NT][TS * TS]:[*];
char made[NT][NT]; /* what tasks depend on */
char wire;         /* libxmp's coarray assignments come one at a time */

double entry(int i, int j) { return i == j ? NT * TS : 1.0 / (1 + i + j); }

int owner(int i, int k, int images) { return (i + k) % images; }

void potrf(double *a) {
  for (int j = 0; j < TS; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < TS; i++) a[i * TS + j] -= a[i * TS + k] * a[j * TS + k];
    a[j * TS + j] = sqrt(a[j * TS + j]);
    for (int i = j + 1; i < TS; i++) a[i * TS + j] /= a[j * TS + j];
  }
  for (int i = 0; i < TS; i++)
    for (int j = i + 1; j < TS; j++) a[i * TS + j] = 0;
}

/* b becomes b times the inverse of the transpose of a. */
void trsm(double *a, double *b) {
  for (int i = 0; i < TS; i++)
    for (int j = 0; j < TS; j++) {
      for (int k = 0; k < j; k++) b[i * TS + j] -= b[i * TS + k] * a[j * TS + k];
      b[i * TS + j] /= a[j * TS + j];
    }
}

void gemm(double *a, double *b, double *c) {
  for (int i = 0; i < TS; i++)
    for (int j = 0; j < TS; j++)
      for (int k = 0; k < TS; k++) c[i * TS + j] -= a[i * TS + k] * b[j * TS + k];
}

void send_tile(int i, int k, int me, int images) {
  for (int to = 0; to < images; to++) {
    if (to == me) continue;
    tile[i][k][0:TS * TS]:[to] = tile[i][k][0:TS * TS];
#pragma xmp post (p[to], i * NT + k)
  }
}

void await_tile(int i, int k, int from) {
#pragma xmp wait (p[from], i * NT + k)
}

/* Tile (i, k) is final: its owner sends it, the others wait for it. */
void share(int i, int k, int me, int images) {
  int from = owner(i, k, images);
  if (from == me) {
#pragma xmp tasklet in(made[i][k]) inout(wire)
    { send_tile(i, k, me, images); }
  } else {
#pragma xmp tasklet out(made[i][k])
    { await_tile(i, k, from); }
  }
}

void factor_tile(int i, int k, int me, int images) {
  if (owner(i, k, images) == me) {
    if (i == k) {
#pragma xmp tasklet inout(made[k][k])
      { potrf(tile[k][k]); }
    } else {
#pragma xmp tasklet in(made[k][k]) inout(made[i][k])
      { trsm(tile[k][k], tile[i][k]); }
    }
  }
  share(i, k, me, images);
}

void update_tile(int i, int j, int k, int me, int images) {
  if (owner(i, j, images) != me) return;
#pragma xmp tasklet in(made[i][k], made[j][k]) inout(made[i][j])
  { gemm(tile[i][k], tile[j][k], tile[i][j]); }
}

double residual() {
  double worst = 0;
  for (int r = 0; r < NT * TS; r++)
    for (int s = 0; s <= r; s++) {
      double sum = 0;
      for (int q = 0; q <= s; q++)
        sum += tile[r / TS][q / TS][r % TS * TS + q % TS] * tile[s / TS][q / TS][s % TS * TS + q % TS];
      if (fabs(sum - entry(r, s)) > worst) worst = fabs(sum - entry(r, s));
    }
  return worst / (NT * TS);
}

int main() {
  int me = xmpc_this_image(), images = xmp_num_images();
  for (int i = 0; i < NT; i++)
    for (int k = 0; k <= i; k++)
      for (int e = 0; e < TS * TS; e++)
        tile[i][k][e] = owner(i, k, images) == me ? entry(i * TS + e / TS, k * TS + e % TS) : 0;
  xmp_sync_all(NULL);
#pragma xmp tasklets
  {
    for (int k = 0; k < NT; k++) {
      for (int i = k; i < NT; i++) factor_tile(i, k, me, images);
      for (int i = k + 1; i < NT; i++)
        for (int j = k + 1; j <= i; j++) update_tile(i, j, k, me, images);
    }
#pragma xmp taskletwait
  }
  xmp_sync_all(NULL);
  double error = residual();
  int bad = !(error < 1e-13);
  if (bad) fprintf(stderr, "image %d: residual %g\n", me, error);
#pragma xmp reduction(+:bad)
  if (me == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  return bad != 0;
}

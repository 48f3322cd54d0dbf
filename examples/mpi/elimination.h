// SPDX-License-Identifier: BSD-3-Clause
// What gauss.c calculates: the system that it solves, and the elimination of two columns at a time.
#pragma once

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { kPair = 2 };

// Of the matrix; column n is the right side.
static double element(int row, int column) {
  unsigned x = (unsigned)row * 2654435761u ^ ((unsigned)column + 1) * 2246822519u;
  x = (x ^ x >> 15) * 2654435769u;
  return (double)(x >> 8) / (1 << 24) - 0.5;
}

static void exchange_rows(double* column, int a, int b) {
  double kept = column[a];
  column[a] = column[b];
  column[b] = kept;
}

// Eliminates the pair at `first`: two columns of multipliers, and in front of them the two rows that were pivots.
static void factor(int n, double* pair, int first, double* packet) {
  int height = n - first;
  for (int c = 0; c < kPair; ++c) {
    double* column = pair + (size_t)c * n;
    int row = first + c, pivot = row;
    for (int i = row; i < n; ++i)
      if (fabs(column[i]) > fabs(column[pivot])) pivot = i;
    packet[c] = pivot;
    for (int other = 0; other < kPair; ++other) exchange_rows(pair + (size_t)other * n, row, pivot);
    for (int i = row + 1; i < n; ++i) column[i] /= column[row];
    if (c == 0)
      for (int i = row + 1; i < n; ++i) pair[n + i] -= column[i] * pair[n + row];
  }
  memcpy(packet + kPair, pair + first, (size_t)height * sizeof *pair);
  memcpy(packet + kPair + height, pair + n + first, (size_t)height * sizeof *pair);
}

// A column behind the pair at `first`.
static void update(int n, double* column, int first, const double* packet) {
  const double *left = packet + kPair - first, *right = left + (n - first);
  for (int c = 0; c < kPair; ++c) exchange_rows(column, first + c, (int)packet[c]);
  double upper = column[first], lower = column[first + 1] -= left[first + 1] * upper;
  for (int i = first + kPair; i < n; ++i) column[i] -= left[i] * upper + right[i] * lower;
}

// The unknowns of the pair at `first`, the later ones being known, and what they leave of the rows above.
static void solve_pair(int n, const double* pair, int first, double* b) {
  for (int row = first + kPair - 1; row >= first; --row) {
    const double* column = pair + (size_t)(row - first) * n;
    b[row] /= column[row];
    for (int i = 0; i < row; ++i) b[i] -= column[i] * b[row];
  }
}

// The largest error of a row of A x, beside what rounding allows.
static double worst_error(int n, const double* product, const double* x) {
  double worst = 0, longest = 1;
  for (int i = 0; i < n; ++i) {
    worst = fmax(worst, fabs(product[i] - element(i, n)));
    longest = fmax(longest, fabs(x[i]));
  }
  return worst / (n * DBL_EPSILON * longest);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The 27-point problem on a cube, as instruments/solver/matrix/generate.hpp has it, for programs on other libraries. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

enum { kMostEntries = 27 };  // NOLINT(readability-identifier-naming)

/* What the command line asks for. */
struct problem {
  int side;
  double tolerance;
  int rows;        /* of the matrix */
  int first, last; /* of this rank, the last one excluded */
};

/* Ends the program unless it was called as PROGRAM SIDE TOLERANCE. */
static inline struct problem read_problem(int argc, char** argv, int rank, int ranks) {
  struct problem p = {0};
  if (argc == 3) {
    p.side = atoi(argv[1]);
    p.tolerance = atof(argv[2]);
  }
  if (p.side < 1 || p.side > 1000 || !(p.tolerance > 0 && p.tolerance < 1)) {
    fprintf(stderr,
            "usage: %s SIDE TOLERANCE; a side from 1 to 1000, a tolerance above 0 and below 1\n",
            argv[0]);
    exit(2);
  }
  p.rows = p.side * p.side * p.side;
  p.first = (int)((long long)p.rows * rank / ranks);
  p.last = (int)((long long)p.rows * (rank + 1) / ranks);
  return p;
}

/* The columns of a row and their values, in order; returns how many. */
static inline int row_of(const struct problem* p, int row, int* columns, double* values) {
  const int n = p->side, x = row % n, y = row / n % n, z = row / n / n;
  int count = 0;
  for (int dz = -1; dz <= 1; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || z + dz >= n)
          continue;
        columns[count] = row + dx + n * (dy + n * dz);
        values[count] = columns[count] == row ? 26 : -1;
        ++count;
      }
    }
  }
  return count;
}

/* A line for the figures, in the words of omni cg. */
static inline void report(int iterations, double seconds, double setup_seconds,
                          double relative_residual) {
  printf(
      "{\"iterations\": %d, \"seconds_per_iteration\": %.9g, \"setup_seconds\": %.9g, "
      "\"relative_residual\": %.9g}\n",
      iterations, seconds / iterations, setup_seconds, relative_residual);
}

// SPDX-License-Identifier: BSD-3-Clause
// Solves a dense system by Gaussian elimination with partial pivoting: gauss [N [CUT]]
//
// Pairs of columns belong to the ranks in turn. The owner of a pair eliminates it and sends its multipliers, up to
// 16 N bytes, to the rank behind it, which passes them on before it uses them, as the program of the LogGPS paper (Ino,
// Fujimoto, Hagihara, 2001, section 4.3) sends long messages. CUT bytes at most go into a message; 0: no limit.
#include <float.h>
#include <math.h>
#include <string.h>

#include "timed.h"

enum { kPair = 2 };

static int n, cut, rank, ranks;

static double element(int row, int column) {
  unsigned x = (unsigned)row * 2654435761u ^ ((unsigned)column + 1) * 2246822519u;
  x = (x ^ x >> 15) * 2654435769u;
  return (double)(x >> 8) / (1 << 24) - 0.5;
}

// A message of count doubles, in pieces if it is longer than CUT.
static void in_pieces(double* data, int count, int peer, int sends) {
  int most = cut == 0 || count * (int)sizeof *data <= cut ? count : cut / (int)sizeof *data;
  for (int at = 0; at < count; at += most) {
    int now = count - at < most ? count - at : most;
    if (sends)
      MPI_Send(data + at, now, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(data + at, now, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void exchange_rows(double* column, int a, int b) {
  double kept = column[a];
  column[a] = column[b];
  column[b] = kept;
}

// Eliminates the pair at `first`: two columns of multipliers, and in front of them the two rows that were pivots.
static void factor(double* pair, int first, double* packet) {
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

static void update(double* column, int first, const double* packet) {
  const double *left = packet + kPair - first, *right = left + (n - first);
  for (int c = 0; c < kPair; ++c) exchange_rows(column, first + c, (int)packet[c]);
  double upper = column[first], lower = column[first + 1] -= left[first + 1] * upper;
  for (int i = first + kPair; i < n; ++i) column[i] -= left[i] * upper + right[i] * lower;
}

// b travels from the owner of the last pair to that of the first, and becomes the solution.
static void substitute_back(const double* mine, double* b) {
  for (int pair = n / kPair - 1; pair >= 0; --pair) {
    if (pair % ranks != rank) continue;
    if (ranks > 1 && pair + 1 < n / kPair) in_pieces(b, n, (rank + 1) % ranks, 0);
    for (int c = kPair - 1; c >= 0; --c) {
      const double* column = mine + (size_t)(pair / ranks * kPair + c) * n;
      int row = pair * kPair + c;
      b[row] /= column[row];
      for (int i = 0; i < row; ++i) b[i] -= column[i] * b[row];
    }
    if (ranks > 1 && pair > 0) in_pieces(b, n, (rank + ranks - 1) % ranks, 1);
  }
}

static void eliminate(double* mine, double* b, double* packet) {
  int pairs = n / kPair, after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int pair = 0; pair < pairs; ++pair) {
    int owner = pair % ranks, first = pair * kPair, length = kPair + kPair * (n - first);
    if (owner == rank)
      factor(mine + (size_t)(pair / ranks) * kPair * n, first, packet);
    else
      in_pieces(packet, length, before, 0);
    if (after != owner) in_pieces(packet, length, after, 1);
    int next = pair / ranks + (rank <= owner);  // the first pair of mine behind it
    for (int column = next * kPair; next < pairs && (column / kPair) * ranks + rank < pairs; ++column)
      update(mine + (size_t)column * n, first, packet);
    update(b, first, packet);
  }
}

// The largest error of a row of A x = b, beside what rounding allows.
static double residual(const double* x) {
  double* row = calloc((size_t)n, sizeof *row);
  for (int column = 0; column < n; ++column)
    if (column / kPair % ranks == rank)
      for (int i = 0; i < n; ++i) row[i] += element(i, column) * x[column];
  MPI_Allreduce(MPI_IN_PLACE, row, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double worst = 0, longest = 0;
  for (int i = 0; i < n; ++i) {
    worst = fmax(worst, fabs(row[i] - element(i, n)));
    longest = fmax(longest, fabs(x[i]));
  }
  free(row);
  return worst / (n * DBL_EPSILON * fmax(longest, 1));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = argument(argc, argv, 1, kPair, 512) / kPair * kPair;
  cut = argument(argc, argv, 2, 0, 0);
  if (cut > 0 && cut < (int)sizeof(double)) cut = sizeof(double);
  size_t columns = (size_t)(n / kPair / ranks + 1) * kPair;
  double *mine = calloc(columns * (size_t)n, sizeof *mine), *b = calloc((size_t)n, sizeof *b);
  double* packet = calloc((size_t)kPair * n + kPair, sizeof *packet);
  for (int column = 0, at = 0; column < n; ++column)
    if (column / kPair % ranks == rank)
      for (int i = 0; i < n; ++i) mine[(size_t)at * n + i] = element(i, column), at += i == n - 1;
  for (int i = 0; i < n; ++i) b[i] = element(i, n);

  begin_timed();
  eliminate(mine, b, packet);
  substitute_back(mine, b);
  double seconds = end_timed();

  MPI_Bcast(b, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double error = residual(b);
  char what[100];
  snprintf(what, sizeof what, "gauss n=%d ranks=%d cut=%d residual=%.1e", n, ranks, cut, error);
  free(mine), free(b), free(packet);
  return conclude(what, seconds, error < 10);
}

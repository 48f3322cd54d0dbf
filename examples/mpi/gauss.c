// SPDX-License-Identifier: BSD-3-Clause
// Solves a dense system by Gaussian elimination with partial pivoting: gauss [N [CUT]]
//
// Pairs of columns belong to the ranks in turn. The owner of a pair eliminates it and sends its multipliers, up to
// 16 N bytes, to the rank behind it, which passes them on before it uses them, as the program of the LogGPS paper (Ino,
// Fujimoto, Hagihara, 2001, section 4.3) sends long messages. CUT bytes at most go into a message; 0: no limit.
#include "elimination.h"
#include "pieces.h"
#include "timed.h"

static int n, cut, rank, ranks;

// b travels from the owner of the last pair to that of the first, and becomes the solution.
static void substitute_back(const double* mine, double* b) {
  for (int pair = n / kPair - 1; pair >= 0; --pair) {
    if (pair % ranks != rank) continue;
    if (ranks > 1 && pair + 1 < n / kPair) in_pieces(b, n, cut, (rank + 1) % ranks, 0);
    solve_pair(n, mine + (size_t)(pair / ranks) * kPair * n, pair * kPair, b);
    if (ranks > 1 && pair > 0) in_pieces(b, n, cut, (rank + ranks - 1) % ranks, 1);
  }
}

static void eliminate(double* mine, double* b, double* packet) {
  int pairs = n / kPair, after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int pair = 0; pair < pairs; ++pair) {
    int owner = pair % ranks, first = pair * kPair, length = kPair + kPair * (n - first);
    if (owner == rank)
      factor(n, mine + (size_t)(pair / ranks) * kPair * n, first, packet);
    else
      in_pieces(packet, length, cut, before, 0);
    if (after != owner) in_pieces(packet, length, cut, after, 1);
    int next = pair / ranks + (rank <= owner);  // the first pair of mine behind it
    for (int column = next * kPair; next < pairs && (column / kPair) * ranks + rank < pairs; ++column)
      update(n, mine + (size_t)column * n, first, packet);
    update(n, b, first, packet);
  }
}

static double residual(const double* x) {
  double* product = calloc((size_t)n, sizeof *product);
  for (int column = 0; column < n; ++column)
    for (int i = 0; i < n && column / kPair % ranks == rank; ++i)
      product[i] += element(i, column) * x[column];
  MPI_Allreduce(MPI_IN_PLACE, product, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double error = worst_error(n, product, x);
  free(product);
  return error;
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

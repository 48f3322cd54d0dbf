// SPDX-License-Identifier: BSD-3-Clause
// Blocks pass through all ranks, each of which works on them: pipeline [BLOCKS [VALUES [ROUNDS]]]
//
// A rank's work on a value is ROUNDS times x = x / 2 + rank + 1, whose end is known.
#include <cmath>
#include <cstdio>
#include <vector>

#include "timed.h"

namespace {

double work(double x, int stage, int rounds) {
  for (int i = 0; i < rounds; ++i) x = x / 2 + stage + 1;
  return x;
}

// The same in one step: the distance from the point that stays shrinks by 2^-rounds.
double expected(double x, int ranks, int rounds) {
  for (int stage = 0; stage < ranks; ++stage) {
    const double stays = 2.0 * (stage + 1);
    x = stays + (x - stays) * std::pow(0.5, rounds);
  }
  return x;
}

double first_value(int block, int at) { return block % 1000 + at * 0.001; }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int blocks = argument(argc, argv, 1, 1, 200);
  const int values = argument(argc, argv, 2, 1, 4096);
  const int rounds = argument(argc, argv, 3, 1, 20);
  std::vector<double> data(static_cast<std::size_t>(values));
  bool right = true;

  begin_timed();
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < values && rank == 0; ++i) data[i] = first_value(block, i);
    if (rank > 0)
      MPI_Recv(data.data(), values, MPI_DOUBLE, rank - 1, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (double& x : data) x = work(x, rank, rounds);
    if (rank + 1 < ranks) MPI_Send(data.data(), values, MPI_DOUBLE, rank + 1, block, MPI_COMM_WORLD);
    for (int i = 0; i < values && rank + 1 == ranks; ++i)
      right = right && std::abs(data[i] - expected(first_value(block, i), ranks, rounds)) < 1e-9;
  }
  const double seconds = end_timed();

  char what[100];
  std::snprintf(what, sizeof what, "pipeline blocks=%d ranks=%d values=%d rounds=%d", blocks, ranks,
                values, rounds);
  return conclude(what, seconds, right ? 1 : 0);
}

// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima over the ranks of a job: right, and the same bits on each rank and each time.
#include <omnipgas/ompl_ext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "solver/ranks/layer.hpp"
#include "solver/ranks/sums.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

constexpr int kTurns = 200;

const char* failed = nullptr;
void expect(bool holds, const char* what) {
  if (!holds && failed == nullptr) failed = what;
}

// Of a number of halves: exact in any order.
double part(uint32_t rank, std::size_t i, int turn) {
  return 0.5 * static_cast<double>((rank + 1) * (i + 1)) + turn;
}

// Two sums that rounding makes depend on their order, as halves of words: those can be compared by maxima.
void expect_same_bits(Sums& sums, uint32_t rank) {
  double total[1] = {0.1 / (rank + 1)};
  sums.sum(total);
  uint32_t word[2];
  std::memcpy(word, total, sizeof word);
  double most[4] = {static_cast<double>(word[0]), static_cast<double>(word[1]),
                    -static_cast<double>(word[0]), -static_cast<double>(word[1])};
  sums.max(most);
  expect(most[0] == -most[2] && most[1] == -most[3], "ranks differ in the bits of a sum");
}

void test() {
  const uint32_t rank = my_rank(), ranks = all_ranks();
  Sums sums;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const std::size_t count : {1U, 2U, 8U, 19U}) {  // 8 at once, 19 in pieces
      std::vector<double> values(count), most(count);
      for (std::size_t i = 0; i < count; ++i) most[i] = values[i] = part(rank, i, turn);
      sums.sum(values);
      sums.max(most);
      for (std::size_t i = 0; i < count; ++i) {
        double expected = 0;
        for (uint32_t other = 0; other < ranks; ++other) expected += part(other, i, turn);
        expect(values[i] == expected, "a wrong sum");
        expect(most[i] == part(ranks - 1, i, turn), "a wrong maximum");
      }
    }
    expect_same_bits(sums, rank);
  }
}

}  // namespace

int main() {
  try {
    check(ompl_init(), "ompl_init");
    test();
    check(ompl_finalize(), "ompl_finalize");
  } catch (const LayerError& error) {
    failed = "the layer";
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (failed != nullptr) std::fprintf(stderr, "failed: %s\n", failed);
  return failed == nullptr ? 0 : 1;
}

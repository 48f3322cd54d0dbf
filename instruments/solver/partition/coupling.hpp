// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace ompl::solver {

// The columns of other parts, in runs of those that one row takes from one neighbour: what came from a neighbour is
// read where it landed, wherever that is in this exchange.
struct Coupling {
  struct Run {
    uint32_t row;
    uint32_t neighbour;  // its number in Pattern
  };
  std::vector<Run> runs;           // by row, then by neighbour
  std::vector<uint64_t> start{0};  // of each run in the next two, and their length
  std::vector<uint32_t> column;    // counts what comes from the neighbour
  std::vector<double> value;

  [[nodiscard]] uint64_t entries() const { return column.size(); }
};

// y += A x for the rows first up to, but without, last. halo: x as each neighbour sent it.
void multiply_add(const Coupling& coupling, uint32_t first, uint32_t last, const double* const* halo,
                  double* y);

}  // namespace ompl::solver

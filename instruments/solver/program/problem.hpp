// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <stdexcept>

#include "solver/partition/local.hpp"
#include "solver/partition/partition.hpp"
#include "solver/program/options.hpp"
#include "solver/ranks/sums.hpp"

namespace ompl::solver {

// The input is refused, on all ranks. The text is empty on those that have nothing to say.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// f() on every rank; throws Refused on all if it refuses on one. Collective.
void together(Sums& sums, const std::function<void()>& f);

struct Problem {
  uint32_t rows = 0;  // of the matrix
  bool symmetric = true;
  Partition partition;
  LocalMatrix local;
};

// Each rank makes its own rows of a generated matrix, or reads its share of a file. None has the whole matrix, but rank 0
// its pattern while METIS cuts it. Collective; throws Refused.
[[nodiscard]] Problem make_problem(const Options& options, Sums& sums);

// What the partition costs, and entries in all, at every rank. Collective.
struct Cost {
  Quality quality;
  uint64_t entries = 0;
};
[[nodiscard]] Cost cost_of(const Problem& problem, Sums& sums);

// What the options ask for. Collective. True if it is solved. Throws Refused on all ranks, LayerError and InputError on
// one: then the job must be ended.
bool solve(const Options& options, Sums& sums);

}  // namespace ompl::solver

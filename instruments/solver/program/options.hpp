// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ompl::solver {

struct Options {
  bool spmv = false;  // products,
  bool dot = false;   // each with x . A x over all ranks
  std::string generate, matrix, rhs, start, solution, checkpoint;
  std::string solver = "cg", partition = "row", format = "csr", precondition = "none",
              strategy = "double-buffer";
  int32_t strategy_number = 0;  // OMPL_HALO_...
  uint32_t threads = 1, blocks = 1, max_iterations = 0, checkpoint_every = 100;
  double tolerance = 1e-8;
  bool progress = false;
};

// Nothing: go on; else the exit code. Speaks only if `loud`, which one rank is.
std::optional<int> parse_options(int argc, char** argv, bool loud, Options* out);

}  // namespace ompl::solver

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/partition.hpp"

namespace ompl::solver {

// What a partition costs in each product with the matrix, over all parts.
struct Quality {
  uint64_t cut = 0;            // entries whose column is another part's
  uint64_t halo = 0;           // values received
  double neighbours_mean = 0;  // parts from which a part receives
  uint32_t neighbours_most = 0;
  uint64_t smallest_message = 0;  // bytes; 0 if there are no messages
  double interior_least = 1;      // rows that need no other part, as a share of the part's rows
  double rows_most = 1;           // rows of the largest part, divided by the mean
};

// The matrix must be square.
[[nodiscard]] Quality quality(const Csr& matrix, const Partition& partition);

}  // namespace ompl::solver

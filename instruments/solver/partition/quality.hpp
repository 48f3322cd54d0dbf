// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "solver/partition/partition.hpp"

namespace ompl::solver {

// What one part has, and takes from others in each product with the matrix.
struct PartCost {
  struct Source {
    uint32_t part;
    uint64_t values;
  };
  uint64_t rows = 0, interior = 0;  // rows; those that need no other part
  uint64_t entries = 0, cut = 0;    // entries; those whose column is another part's
  std::vector<Source> from;         // by part
};

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

// Of each part. The matrix must be square.
[[nodiscard]] std::vector<PartCost> costs_of_parts(const Csr& matrix, const Partition& partition);

[[nodiscard]] Quality quality(std::span<const PartCost> parts);
[[nodiscard]] Quality quality(const Csr& matrix, const Partition& partition);

}  // namespace ompl::solver

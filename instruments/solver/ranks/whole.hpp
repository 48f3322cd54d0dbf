// SPDX-License-Identifier: BSD-3-Clause
// What one rank knows to all, and what all know to one. Collective; each throws LayerError.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/partition/partition.hpp"

namespace ompl::solver {

// Rank 0's values to every rank; as many everywhere.
void share(std::span<uint32_t> values);

// A vector in the matrix's order, at rank 0; elsewhere nothing. global: which rows of the matrix are in `mine`.
[[nodiscard]] std::vector<double> gather(const Partition& partition, std::span<const uint32_t> global,
                                         std::span<const double> mine);

}  // namespace ompl::solver

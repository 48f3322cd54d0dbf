// SPDX-License-Identifier: BSD-3-Clause
// Agreement of all ranks: what one rank knows to all, what all know to one, and that all refuse what one refuses.
// Collective; each throws LayerError.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "solver/partition/partition.hpp"

namespace ompl::solver {

// Rank 0's values to every rank; as many everywhere.
void share(std::span<uint32_t> values);

// A vector in the matrix's order, at rank 0; elsewhere nothing. global: which rows of the matrix are in `mine`.
[[nodiscard]] std::vector<double> gather(const Partition& partition, std::span<const uint32_t> global,
                                         std::span<const double> mine);

// Why f() cannot be done on this rank: the input, memory or threads. "" if it is done.
[[nodiscard]] std::string refusal_of(const std::function<void()>& f);

// f() on every rank. Where it cannot be done on one, throws InputError on all, with the words of the lowest: for what
// concerns all, such as the line of a file, whoever has read it. f() may not be collective; this is. Throws LayerError.
void alike(const std::function<void()>& f);

}  // namespace ompl::solver

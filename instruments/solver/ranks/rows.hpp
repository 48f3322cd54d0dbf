// SPDX-License-Identifier: BSD-3-Clause
// What the ranks do with their rows of one matrix. `block`: row_block() of each rank. Collective; each throws LayerError.
#pragma once

#include "solver/partition/local.hpp"

namespace ompl::solver {

// Whether the matrix is its own transpose, to the bit but for the signs of zeros. Only entries in columns of other blocks
// travel.
[[nodiscard]] bool is_symmetric(const Slice& block);

// Entries of each row of the matrix, on every rank.
[[nodiscard]] std::vector<uint32_t> all_row_lengths(const Slice& block);

// The whole matrix without its values, at rank 0; elsewhere nothing.
[[nodiscard]] Csr whole_pattern(const Slice& block);

// The rows that the partition gives to this rank, from whoever has them.
[[nodiscard]] Slice move_to_owners(Slice block, const Partition& partition);

// Each rank asks the others for what its rows need.
[[nodiscard]] LocalMatrix localize(const Rows& mine, const Partition& partition,
                                   Storage storage = Storage::rows);

}  // namespace ompl::solver

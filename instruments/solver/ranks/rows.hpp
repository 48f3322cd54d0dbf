// SPDX-License-Identifier: BSD-3-Clause
// What the ranks do with their rows of one matrix. `block`: row_block() of each rank. Collective; each throws LayerError.
#pragma once

#include <string>

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

struct FileRows {
  uint32_t rows = 0;      // of the matrix
  bool mirrored = false;  // the file has one of each two symmetric entries
  Slice mine;             // row_block(rows, ranks, rank)
};

// This rank's block of the rows of the matrix in a file, square and with entries in each row. Throws InputError, the same
// on every rank as one rank alone would; LayerError. Collective.
//
// A coordinate file of Matrix Market that is not compressed is read in shares, one for each rank and thread, and entries go
// to the rank that has their row. Others cannot be cut: each rank reads all of it and keeps what it wants. That takes no
// longer than if one rank read and sent, which the others would wait for, and decompressing is most of it.
[[nodiscard]] FileRows read_rows(const std::string& path, uint32_t threads);

}  // namespace ompl::solver

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "solver/partition/local.hpp"

namespace ompl::solver {

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

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/csr.hpp"
#include "solver/matrix/generate.hpp"

namespace ompl::solver {

struct Partition {
  uint32_t parts = 1;
  std::vector<uint32_t> part_of;  // of each row
};

// Each throws InputError for 0 parts or for fewer rows than parts. Every part gets rows.

// Neighbouring rows, as many for each part (one more or less).
[[nodiscard]] Partition partition_rows(uint32_t rows, uint32_t parts);
// The same, calculated: the rows of a part, none of some if they are too few; the part of a row.
[[nodiscard]] RowRange row_block(uint32_t rows, uint32_t parts, uint32_t part);
[[nodiscard]] uint32_t block_of_row(uint32_t rows, uint32_t parts, uint32_t row);

// Neighbouring rows with about as many entries for each part. `entries`: of each row.
[[nodiscard]] Partition partition_entries(std::span<const uint32_t> entries, uint32_t parts);

// Boxes of a grid: of all ways to cut it along x, y and z into so many, the one with the smallest halo for a
// stencil of 27 points. Throws InputError where no such way is (101 parts of a grid of 100 x 100 x 100).
[[nodiscard]] Partition partition_blocks(const Grid& grid, uint32_t parts);

enum class MetisWay { kway, recursive };

// METIS (Karypis and Kumar) on the graph of the matrix's pattern, made symmetric; edges cut are few, parts within 3 %
// or so. The same parts on each call. Throws InputError if METIS was not there when this was built, or fails.
[[nodiscard]] Partition partition_metis(const Csr& matrix, uint32_t parts, MetisWay way);

// What the functions above check first.
void check_parts(uint32_t rows, uint32_t parts);

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

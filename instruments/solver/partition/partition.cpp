// SPDX-License-Identifier: BSD-3-Clause
#include "solver/partition/partition.hpp"

#include <algorithm>
#include <numeric>

#include "common/input_error.hpp"

namespace ompl::solver {

void check_parts(uint32_t rows, uint32_t parts) {
  if (parts == 0) refuse("0 parts; there must be one at least");
  if (rows < parts)
    refuse("{} rows are too few for {} parts; take {} ranks or fewer", rows, parts, rows);
}

Partition partition_rows(uint32_t rows, uint32_t parts) {
  check_parts(rows, parts);
  Partition out{parts, std::vector<uint32_t>(rows)};
  for (uint32_t part = 0; part < parts; ++part) {
    const RowRange block = row_block(rows, parts, part);
    std::fill(out.part_of.begin() + block.first, out.part_of.begin() + block.last, part);
  }
  return out;
}

RowRange row_block(uint32_t rows, uint32_t parts, uint32_t part) {
  const auto first = [&](uint64_t of) { return static_cast<uint32_t>(rows * of / parts); };
  return {first(part), first(part + uint64_t{1})};
}

uint32_t block_of_row(uint32_t rows, uint32_t parts, uint32_t row) {
  return static_cast<uint32_t>((parts * (uint64_t{row} + 1) - 1) / rows);
}

Partition partition_entries(std::span<const uint32_t> entries, uint32_t parts) {
  const auto rows = static_cast<uint32_t>(entries.size());
  check_parts(rows, parts);
  Partition out{parts, std::vector<uint32_t>(rows)};
  const uint64_t all = std::accumulate(entries.begin(), entries.end(), uint64_t{0});
  uint64_t before = 0;
  uint32_t part = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    // The part in whose share of the entries the row's middle lies; but none may be left without a row.
    const uint64_t middle = (2 * before + entries[row]) / 2;
    before += entries[row];
    const auto wanted = static_cast<uint32_t>(
        std::min<uint64_t>(parts - 1, middle * parts / std::max<uint64_t>(1, all)));
    const uint32_t next = row == 0 ? 0 : part + 1;
    const uint32_t parts_left = parts - std::min(next, parts), rows_left = rows - row;
    if (row > 0 && parts_left > 0 && (wanted > part || rows_left == parts_left)) part = next;
    out.part_of[row] = part;
  }
  return out;
}

Partition partition_blocks(const Grid& grid, uint32_t parts) {
  const auto [nx, ny, nz] = grid.size;
  const uint64_t rows = uint64_t{nx} * ny * nz;
  if (rows > kMostRows) refuse("a grid of {} x {} x {} has more than {} points", nx, ny, nz, kMostRows);
  check_parts(static_cast<uint32_t>(rows), parts);
  std::array<uint32_t, 3> best{};
  uint64_t least = ~uint64_t{0};
  for (uint32_t x = 1; x <= std::min(parts, nx); ++x) {
    if (parts % x != 0) continue;
    for (uint32_t y = 1; y <= std::min(parts / x, ny); ++y) {
      const uint32_t z = parts / x / y;
      if (parts / x % y != 0 || z > nz) continue;
      // All boxes with their halos; a box has a plane more on each side that is cut.
      const uint64_t points =
          (nx + 2 * uint64_t{x - 1}) * (ny + 2 * uint64_t{y - 1}) * (nz + 2 * uint64_t{z - 1});
      if (points >= least) continue;
      least = points;
      best = {x, y, z};
    }
  }
  if (best[0] == 0)
    refuse("a grid of {} x {} x {} cannot be cut into {} boxes; take another number", nx, ny, nz,
           parts);

  Partition out{parts, {}};
  out.part_of.reserve(rows);
  const auto box = [&](std::size_t axis,
                       uint64_t at) {  // the inverse of first = size * box / boxes, rounded down
    return static_cast<uint32_t>((best[axis] * (at + 1) - 1) / grid.size[axis]);
  };
  for (uint32_t z = 0; z < nz; ++z)
    for (uint32_t y = 0; y < ny; ++y)
      for (uint32_t x = 0; x < nx; ++x)
        out.part_of.push_back(box(0, x) + best[0] * (box(1, y) + best[1] * box(2, z)));
  return out;
}

}  // namespace ompl::solver

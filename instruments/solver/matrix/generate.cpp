// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/generate.hpp"

#include <algorithm>
#include <cstdlib>

#include "common/input_error.hpp"
#include "solver/matrix/csr.hpp"

namespace ompl::solver {

namespace {

uint64_t entries_of(const Stencil& stencil, const Grid& grid) {
  uint64_t entries = 0;
  for (const Stencil::Leg& leg : stencil.legs) {
    uint64_t points = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto reach = static_cast<uint32_t>(std::abs(leg.distance[axis]));
      points *= grid.size[axis] > reach ? grid.size[axis] - reach : 0;
    }
    entries += points;
  }
  return entries;
}

Csr room_for(const Grid& grid, uint64_t rows, uint64_t entries) {
  Csr out;
  out.columns = rows_of(grid);
  reserve_large(out.start, rows + 1);
  reserve_large(out.column, entries);
  reserve_large(out.value, entries);
  return out;
}

}  // namespace

Stencil stencil_27() {
  Stencil out;
  for (int32_t z = -1; z <= 1; ++z)
    for (int32_t y = -1; y <= 1; ++y)
      for (int32_t x = -1; x <= 1; ++x)
        out.legs.push_back({{x, y, z}, x == 0 && y == 0 && z == 0 ? 26.0 : -1.0});
  return out;
}

Stencil stencil_7(std::array<double, 3> weight) {
  const auto [x, y, z] = weight;
  return {{{{0, 0, -1}, -z},
           {{0, -1, 0}, -y},
           {{-1, 0, 0}, -x},
           {{0, 0, 0}, 2 * (x + y + z)},
           {{1, 0, 0}, -x},
           {{0, 1, 0}, -y},
           {{0, 0, 1}, -z}}};
}

uint32_t rows_of(const Grid& grid) {
  uint64_t rows = 1;
  for (const uint32_t size : grid.size) {
    if (size == 0)
      refuse("a grid of {} x {} x {} has no points", grid.size[0], grid.size[1], grid.size[2]);
    if (rows > kMostRows / size)
      refuse("a grid of {} x {} x {} has more than {} points", grid.size[0], grid.size[1], grid.size[2],
             kMostRows);
    rows *= size;
  }
  return static_cast<uint32_t>(rows);
}

GridRows::GridRows(const Stencil& stencil, const Grid& grid)
    : legs_(stencil.legs), size_(grid.size), columns_(legs_.size()), values_(legs_.size()) {
  const int64_t nx = size_[0], ny = size_[1];
  for (const auto& [distance, value] : legs_) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      reach_[axis] = std::max(reach_[axis], static_cast<uint32_t>(std::abs(distance[axis])));
    away_.push_back(static_cast<uint32_t>(distance[0] + nx * (distance[1] + ny * distance[2])));
    inner_values_.push_back(value);
  }
}

Row GridRows::operator[](uint32_t row) {
  const uint32_t plane = row / size_[0];
  const std::array at{row % size_[0], plane % size_[1], plane / size_[1]};
  bool inner = true;
  for (std::size_t axis = 0; axis < 3; ++axis)
    inner = inner && at[axis] >= reach_[axis] && at[axis] + uint64_t{reach_[axis]} < size_[axis];
  if (!inner) return outer(at);
  for (std::size_t leg = 0; leg < away_.size(); ++leg) columns_[leg] = row + away_[leg];
  return {columns_, inner_values_};
}

// Not every leg ends in the grid.
Row GridRows::outer(const std::array<uint32_t, 3>& at) {
  const int64_t nx = size_[0], ny = size_[1], nz = size_[2];
  std::size_t count = 0;
  for (const auto& [distance, value] : legs_) {
    const int64_t x = at[0] + int64_t{distance[0]}, y = at[1] + int64_t{distance[1]},
                  z = at[2] + int64_t{distance[2]};
    if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= nz) continue;
    columns_[count] = static_cast<uint32_t>(x + nx * (y + ny * z));
    values_[count++] = value;
  }
  return {std::span(columns_).first(count), std::span(values_).first(count)};
}

Csr generate(const Stencil& stencil, const Grid& grid) {
  const uint32_t rows = rows_of(grid);
  Csr out = room_for(grid, rows, entries_of(stencil, grid));
  GridRows from(stencil, grid);
  for (uint32_t row = 0; row < rows; ++row) out.append(from[row]);
  return out;
}

Csr generate(const Stencil& stencil, const Grid& grid, std::span<const uint32_t> rows) {
  Csr out = room_for(grid, rows.size(), rows.size() * stencil.legs.size());
  GridRows from(stencil, grid);
  for (const uint32_t row : rows) out.append(from[row]);
  return out;
}

}  // namespace ompl::solver

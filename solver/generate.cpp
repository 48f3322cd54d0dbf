// SPDX-License-Identifier: BSD-3-Clause
#include "solver/generate.hpp"

#include <cstdlib>

#include "tools/input_error.hpp"

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

void append_row(const Stencil& stencil, const Grid& grid, uint32_t row, Csr& out) {
  const auto [nx, ny, nz] = grid.size;
  const int64_t x = row % nx, y = row / nx % ny, z = row / nx / ny;
  for (const Stencil::Leg& leg : stencil.legs) {
    const int64_t to_x = x + leg.distance[0], to_y = y + leg.distance[1], to_z = z + leg.distance[2];
    if (to_x < 0 || to_x >= nx || to_y < 0 || to_y >= ny || to_z < 0 || to_z >= nz) continue;
    out.column.push_back(static_cast<uint32_t>(to_x + nx * (to_y + ny * to_z)));
    out.value.push_back(leg.value);
  }
  out.start.push_back(out.column.size());
  ++out.rows;
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

Csr generate(const Stencil& stencil, const Grid& grid) {
  const uint32_t rows = rows_of(grid);
  Csr out;
  out.columns = rows;
  const uint64_t entries = entries_of(stencil, grid);
  out.start.reserve(uint64_t{rows} + 1);
  out.column.reserve(entries);
  out.value.reserve(entries);
  for (uint32_t row = 0; row < rows; ++row) append_row(stencil, grid, row, out);
  return out;
}

Csr generate(const Stencil& stencil, const Grid& grid, std::span<const uint32_t> rows) {
  Csr out;
  out.columns = rows_of(grid);
  out.start.reserve(rows.size() + 1);
  out.column.reserve(rows.size() * stencil.legs.size());
  out.value.reserve(rows.size() * stencil.legs.size());
  for (const uint32_t row : rows) append_row(stencil, grid, row, out);
  return out;
}

}  // namespace ompl::solver

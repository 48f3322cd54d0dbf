// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/csr.hpp"

namespace ompl::solver {

// Point (x, y, z) is row x + size[0] * (y + size[1] * z).
struct Grid {
  std::array<uint32_t, 3> size;
};

// What a point adds up: neighbours by their distance, in the order of their rows.
struct Stencil {
  struct Leg {
    std::array<int32_t, 3> distance;
    double value;
  };
  std::vector<Leg> legs;
};

// 26 on the diagonal, -1 for each of 26 neighbours: the Poisson problem of "Sparse Matrix-Vector Multiplication and
// Conjugate Gradient with double-buffered RDMA", and of HPCG.
[[nodiscard]] Stencil stencil_27();

// The neighbours along x, y and z with -weight each, and what makes the row's sum 0 on the diagonal. Weights of 1:
// the 7-point Poisson problem; others: an anisotropic one.
[[nodiscard]] Stencil stencil_7(std::array<double, 3> weight = {1, 1, 1});

// The rows of a stencil's matrix, one at a time. One thread.
class GridRows {
 public:
  GridRows(const Stencil& stencil, const Grid& grid);
  // Good until the next one is asked for.
  [[nodiscard]] Row operator[](uint32_t row);

 private:
  [[nodiscard]] Row outer(const std::array<uint32_t, 3>& at);

  const std::vector<Stencil::Leg> legs_;
  const std::array<uint32_t, 3> size_;
  std::array<uint32_t, 3> reach_{};   // of the longest leg along each axis
  std::vector<uint32_t> away_;        // of each leg: rows from the point, modulo 2^32
  std::vector<double> inner_values_;  // of each leg
  std::vector<uint32_t> columns_;     // of the last row
  std::vector<double> values_;
};

// The matrix of a stencil; neighbours outside the grid are left out (Dirichlet). Throws InputError for a grid
// without points or with more than kMostRows.
[[nodiscard]] Csr generate(const Stencil& stencil, const Grid& grid);

// Some of its rows, without the others.
[[nodiscard]] Csr generate(const Stencil& stencil, const Grid& grid, std::span<const uint32_t> rows);

// Points of the grid. Throws as generate() does.
[[nodiscard]] uint32_t rows_of(const Grid& grid);

}  // namespace ompl::solver

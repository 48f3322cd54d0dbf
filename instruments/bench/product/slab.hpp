// SPDX-License-Identifier: BSD-3-Clause
// A rank's part of the product of a 27-point matrix with a vector, made of the solver's own parts. The grid is cut across its
// last dimension, so that a rank exchanges a plane with each of its neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "solver/cg/operator.hpp"
#include "solver/cg/team.hpp"
#include "solver/matrix/generate.hpp"
#include "solver/matrix/sell.hpp"
#include "solver/partition/local.hpp"
#include "solver/partition/partition.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/rows.hpp"

namespace bench::product {

namespace solver = ompl::solver;
using Operator = solver::MatrixOperator<solver::Sell>;

class Slab {
 public:
  // Collective. Throws InputError for a grid without points for each rank, LayerError.
  explicit Slab(const std::array<uint32_t, 3>& size)
      : grid_{size},
        local_(rows_of_rank(grid_)),
        own_(solver::to_sell(local_.own)),
        x_(own_.rows),
        y_(own_.rows) {
    local_.own = {};  // as long as the rest together
  }

  [[nodiscard]] const solver::LocalMatrix& local() const { return local_; }

  // The whole product: the own columns while the exchange is on its way, then those of other ranks.
  [[nodiscard]] Operator whole(solver::Exchange& exchange) {
    return {own_, local_.coupling, local_.interior, exchange, team_};
  }
  // The first half of it.
  [[nodiscard]] Operator own(solver::Exchange& exchange) {
    return {own_, none_, own_.rows, exchange, team_};
  }
  void apply(Operator& product) { product.apply(x_.data(), y_.data()); }
  [[nodiscard]] const double* x() const { return x_.data(); }

  // Small whole numbers, which no other `number` near it has in the same places: products are exact.
  void fill(uint64_t number) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = value(local_.global[i], number);
  }
  // The first row whose product is wrong; nothing if all are right.
  [[nodiscard]] std::optional<std::string> wrong(uint64_t number) const {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const double right = product_of(local_.global[i], number);
      if (y_[i] != right)
        return "row " + std::to_string(local_.global[i]) + " is " + std::to_string(y_[i]) + ", not " +
               std::to_string(right);
    }
    return std::nullopt;
  }

 private:
  static solver::LocalMatrix rows_of_rank(const solver::Grid& grid) {
    const uint32_t rows = solver::rows_of(grid), ranks = solver::all_ranks();
    solver::Slice mine;
    mine.global = solver::row_block(rows, ranks, solver::my_rank()).numbers();
    mine.rows = solver::generate(solver::stencil_27(), grid, mine.global);
    return solver::localize(mine, solver::partition_rows(rows, ranks));
  }

  static double value(uint64_t point, uint64_t number) {
    return static_cast<double>((point + 5 * number) % 13 + 1);
  }

  // From the stencil, not from the matrix.
  [[nodiscard]] double product_of(uint32_t point, uint64_t number) const {
    const auto [nx, ny, nz] = grid_.size;
    const uint32_t x = point % nx, y = point / nx % ny, z = point / nx / ny;
    double sum = 27 * value(point, number);
    for (uint32_t k = z == 0 ? 0 : z - 1; k <= z + 1 && k < nz; ++k)
      for (uint32_t j = y == 0 ? 0 : y - 1; j <= y + 1 && j < ny; ++j)
        for (uint32_t i = x == 0 ? 0 : x - 1; i <= x + 1 && i < nx; ++i)
          sum -= value(i + static_cast<uint64_t>(nx) * (j + static_cast<uint64_t>(ny) * k), number);
    return sum;
  }

  solver::Grid grid_;
  solver::LocalMatrix local_;
  solver::Sell own_;
  const solver::Coupling none_;
  solver::Team team_{1};
  std::vector<double> x_, y_;
};

}  // namespace bench::product

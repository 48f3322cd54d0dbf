// SPDX-License-Identifier: BSD-3-Clause
// What the tests of conjugate gradients on one rank solve.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/cg/cg.hpp"
#include "solver/matrix/csr.hpp"

namespace ompl::solver::test {

// A matrix alone on its rank, and b = A * ones.
template <class Format = Csr>
struct Problem {
  explicit Problem(Format matrix, uint32_t threads = 1)
      : a(std::move(matrix)), team(threads), b(a.rows), x(a.rows) {
    const std::vector<double> ones(a.rows, 1.0);
    op.apply(ones.data(), b.data());
  }
  CgResult solve(Preconditioner* preconditioner = nullptr, const CgOptions& options = {}) {
    return cg(op, preconditioner, reduction, team, b, x, options);
  }

  Format a;
  Coupling none;
  Team team;
  NoExchange exchange;
  NoReduction reduction;
  MatrixOperator<Format> op{a, none, a.rows, exchange, team};
  std::vector<double> b, x;
};

inline Csr diagonal(const std::vector<double>& values) {
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < values.size(); ++i) entries.push_back({i, i, values[i]});
  const auto rows = static_cast<uint32_t>(values.size());
  return assemble({0, rows}, rows, entries, Mirror::none, [](uint64_t) { return ""; });
}

}  // namespace ompl::solver::test

// SPDX-License-Identifier: BSD-3-Clause
// CG and its preconditioners on one rank: the answer, the same history for any number of threads, and how it ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cg_problem.hpp"
#include "common/input_error.hpp"
#include "solver/cg/cg.hpp"
#include "solver/matrix/generate.hpp"

namespace {

using namespace ompl::solver;        // NOLINT(google-build-using-namespace)
using namespace ompl::solver::test;  // NOLINT(google-build-using-namespace)

TEST(Cg, AsManyIterationsAsEigenvalues) {
  Problem p(diagonal({1, 1, 2, 2, 5, 5, 5}));
  EXPECT_EQ(p.solve().iterations, 3U);
}

TEST(Cg, PreconditionersGiveTheSameHistoryForAnyNumberOfThreads) {
  const Csr a = generate(stencil_7({1, 5, 30}), {{12, 13, 14}});
  std::vector<double> expected_jacobi, expected_ilu;
  for (const uint32_t threads : {1U, 2U, 5U}) {
    Problem p(a, threads);
    Jacobi jacobi(a, p.team);
    const std::vector<double> with_jacobi = p.solve(&jacobi).history;
    p.x.assign(a.rows, 0);
    BlockJacobi ilu(a, 3, p.team);
    const std::vector<double> with_ilu = p.solve(&ilu).history;
    if (threads == 1) {
      expected_jacobi = with_jacobi;
      expected_ilu = with_ilu;
    }
    EXPECT_EQ(with_jacobi, expected_jacobi);
    EXPECT_EQ(with_ilu, expected_ilu);
  }
  EXPECT_LT(expected_ilu.size(), expected_jacobi.size());
}

TEST(Jacobi, SolvesADiagonalAtOnce) {
  Problem p(diagonal({1, 20, 300, 4000}));
  Jacobi jacobi(p.a, p.team);
  EXPECT_EQ(p.solve(&jacobi).iterations, 1U);
}

TEST(BlockJacobi,
     IsExactWithoutFill) {  // a line of points: the factors of a tridiagonal matrix have no fill
  Problem p(generate(stencil_7(), {{500, 1, 1}}));
  BlockJacobi whole(p.a, 1, p.team);
  EXPECT_EQ(p.solve(&whole).iterations, 1U);
  p.x.assign(p.a.rows, 0);
  BlockJacobi two(p.a, 2, p.team);
  const uint32_t iterations = p.solve(&two).iterations;
  EXPECT_GE(iterations, 2U);
  EXPECT_LE(iterations, 3U);  // couplings left out have rank 2
}

TEST(BlockJacobi, FactorsInTheOrderOfTheMatrix) {  // and not in that in which rows are kept
  const Csr a = generate(stencil_27(), {{6, 5, 4}});
  std::vector<uint32_t> global(a.rows), place(a.rows);
  std::iota(global.begin(), global.end(), 0);
  std::ranges::stable_partition(global, [](uint32_t row) { return row % 3 == 1; });
  for (uint32_t i = 0; i < a.rows; ++i) place[global[i]] = i;
  Csr kept{.rows = a.rows, .columns = a.rows, .start = {0}, .column = {}, .value = {}};
  for (const uint32_t row : global) {
    std::map<uint32_t, double> entries;
    for (uint64_t k = a.start[row]; k < a.start[row + 1]; ++k) entries[place[a.column[k]]] = a.value[k];
    for (const auto& [column, value] : entries) {
      kept.column.push_back(column);
      kept.value.push_back(value);
    }
    kept.start.push_back(kept.column.size());
  }
  std::vector<double> r(a.rows), z(a.rows), kept_r(a.rows), kept_z(a.rows);
  for (uint32_t i = 0; i < a.rows; ++i) r[i] = 1 + i % 11;
  for (uint32_t i = 0; i < a.rows; ++i) kept_r[i] = r[global[i]];
  Team team(2);
  BlockJacobi(a, 2, team).apply(r.data(), z.data());
  BlockJacobi(kept, 2, team, global).apply(kept_r.data(), kept_z.data());
  for (uint32_t i = 0; i < a.rows; ++i) EXPECT_EQ(kept_z[i], z[global[i]]);
}

TEST(Preconditioners, RefuseWhatTheyCannotDo) {
  Team team(1);
  EXPECT_THROW(Jacobi(diagonal({1, -1}), team), ompl::InputError);
  EXPECT_THROW(BlockJacobi(diagonal({1, 0}), 1, team), ompl::InputError);
  EXPECT_THROW(BlockJacobi(diagonal({1, 1}), 3, team), ompl::InputError);
  EXPECT_THROW(BlockJacobi(diagonal({1, 1}), 0, team), ompl::InputError);
}

TEST(Cg, GoesOnFromWhereItStopped) {
  Problem p(generate(stencil_7(), {{10, 10, 10}}));
  const CgResult first = p.solve(nullptr, {.max_iterations = 10});
  const CgResult second = p.solve();
  EXPECT_NEAR(second.history.front(), first.relative_residual(), 1e-12);
  EXPECT_EQ(second.stop, Stop::converged);
}

TEST(Cg, TheUsersOwnOperator) {  // -u'' on 64 points, no matrix
  constexpr uint32_t kPoints = 64;
  Team team(2);
  NoReduction reduction;
  FunctionOperator op(kPoints, team, [](const double* x, double* y) {
    for (uint32_t i = 0; i < kPoints; ++i)
      y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < kPoints ? x[i + 1] : 0);
  });
  std::vector<double> b(kPoints), x(kPoints);
  b.front() = b.back() = 1;
  EXPECT_EQ(cg(op, nullptr, reduction, team, b, x).stop, Stop::converged);
  for (const double value : x) EXPECT_NEAR(value, 1, 1e-6);
}

TEST(Team, RefusesNumbersOfThreads) {
  EXPECT_THROW(Team(0), ompl::InputError);
  EXPECT_THROW(Team(1025), ompl::InputError);
}

TEST(Team, RunsEveryBlockOnce) {
  Team team(4);
  for (int round = 0; round < 1000; ++round) {
    std::vector<int> seen(37);
    team.for_blocks(3, 40, [&](uint32_t block, uint32_t) { ++seen[block - 3]; });
    ASSERT_EQ(seen, std::vector<int>(37, 1));
  }
}

}  // namespace

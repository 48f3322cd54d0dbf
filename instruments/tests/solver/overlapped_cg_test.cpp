// SPDX-License-Identifier: BSD-3-Clause
// Plain, Gropp's and pipelined conjugate gradients on one rank: the solution of plain ones in as many iterations, how many
// sums, how they end, and how far the residual by recurrence may be believed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "cg_problem.hpp"
#include "common/input_error.hpp"
#include "solver/matrix/generate.hpp"

namespace {

using namespace ompl::solver;        // NOLINT(google-build-using-namespace)
using namespace ompl::solver::test;  // NOLINT(google-build-using-namespace)

using Solver = CgResult(Operator&, Preconditioner*, OverlappedReduction&, Team&,
                        std::span<const double>, std::span<double>, const CgOptions&);
struct Kind {
  const char* name;
  Solver* solver;
  uint32_t sums;  // of an iteration
};

class OverlappedCg : public testing::TestWithParam<Kind> {
 protected:
  template <class Format>
  static CgResult solve(Problem<Format>& p, Preconditioner* preconditioner = nullptr,
                        const CgOptions& options = {}) {
    NoOverlappedReduction reduction;
    return GetParam().solver(p.op, preconditioner, reduction, p.team, p.b, p.x, options);
  }
  static double true_residual(Problem<Csr>& p) {
    return true_relative_residual(p.op, p.reduction, p.team, p.b, p.x);
  }
};

CgResult plain_cg(Operator& op, Preconditioner* preconditioner, OverlappedReduction& /*overlapped*/,
                  Team& team, std::span<const double> b, std::span<double> x,
                  const CgOptions& options) {
  NoReduction reduction;
  return cg(op, preconditioner, reduction, team, b, x, options);
}

INSTANTIATE_TEST_SUITE_P(Solvers, OverlappedCg,
                         testing::Values(Kind{"plain", plain_cg, 2}, Kind{"gropp", gropp_cg, 2},
                                         Kind{"pipelined", pipelined_cg, 1}),
                         [](const auto& kind) { return kind.param.name; });

using MakePreconditioner = std::function<std::unique_ptr<Preconditioner>(const Csr&, Team&)>;

TEST_P(OverlappedCg, FindsTheSolutionOfPlainCg) {
  const std::vector<Csr> matrices{
      generate(stencil_7(), {{17, 18, 19}}), generate(stencil_27(), {{12, 13, 14}}),
      generate(stencil_7({1, 5, 30}), {{12, 13, 14}}), diagonal({1, 20, 300, 4000}), diagonal({2})};
  const std::vector<MakePreconditioner> preconditioners{
      [](const Csr&, Team&) { return nullptr; },
      [](const Csr& a, Team& team) { return std::make_unique<Jacobi>(a, team); },
      [](const Csr& a, Team& team) { return std::make_unique<BlockJacobi>(a, 1, team); }};
  for (const Csr& a : matrices) {
    for (const MakePreconditioner& make : preconditioners) {
      Problem plain(a), p(a);
      const auto preconditioner = make(p.a, p.team);
      const CgResult expected = plain.solve(preconditioner.get());
      const CgResult result = solve(p, preconditioner.get());
      EXPECT_EQ(result.stop, Stop::converged);
      EXPECT_NEAR(result.iterations, expected.iterations, 1);
      EXPECT_EQ(result.history.size(), result.iterations + 1);
      EXPECT_LE(result.relative_residual(), 1e-8);
      EXPECT_GT(result.history[result.iterations - 1], 1e-8);
      EXPECT_LE(true_residual(p), 1.01e-8);
      const std::size_t common = std::min(result.history.size(), expected.history.size()) / 2;
      for (std::size_t i = 0; i < common; ++i)
        EXPECT_NEAR(result.history[i], expected.history[i], 1e-6 * expected.history[i]) << i;
      for (uint32_t i = 0; i < a.rows; ++i) EXPECT_NEAR(p.x[i], plain.x[i], 1e-6);
      for (const double value : p.x) EXPECT_NEAR(value, 1, 1e-6);
    }
  }
}

TEST_P(OverlappedCg, CountsItsSums) {  // one more before the first iteration
  Problem p(generate(stencil_27(), {{12, 13, 14}})), plain(p.a);
  const CgResult result = solve(p), expected = plain.solve();
  EXPECT_EQ(result.reductions, 1 + GetParam().sums * result.iterations);
  EXPECT_EQ(expected.reductions, 1 + 2 * expected.iterations);
}

TEST_P(OverlappedCg, TheSameHistoryForAnyNumberOfThreadsAndFormat) {
  const Csr a = generate(stencil_27(), {{21, 20, 19}});
  Problem one(a);
  const std::vector<double> expected = solve(one).history;
  EXPECT_GT(expected.size(), 10U);
  for (const uint32_t threads : {2U, 3U, 7U}) {
    Problem rows(a, threads);
    Problem chunks(to_sell(a), threads);
    EXPECT_EQ(solve(rows).history, expected) << threads;
    EXPECT_EQ(solve(chunks).history, expected) << threads;
  }
}

TEST_P(OverlappedCg, StopsWithAReason) {
  Problem indefinite(diagonal({1, -3}));
  EXPECT_EQ(solve(indefinite).stop, Stop::negative_curvature);
  Problem infinite(diagonal({1, 2}));
  infinite.b[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(solve(infinite).stop, Stop::not_finite);
  Problem few(generate(stencil_7(), {{9, 9, 9}}));
  const CgResult some = solve(few, nullptr, {.max_iterations = 5});
  EXPECT_EQ(some.stop, Stop::iterations);
  EXPECT_EQ(some.iterations, 5U);
  few.x.assign(few.a.rows, 0);
  const CgResult asked = solve(few, nullptr, {.progress = [](uint32_t i, double) { return i < 4; }});
  EXPECT_EQ(asked.stop, Stop::asked);
  EXPECT_EQ(asked.iterations, 4U);
  EXPECT_NEAR(true_residual(few), asked.relative_residual(), 1e-12);
}

TEST_P(OverlappedCg, RightHandSideOfZeros) {
  Problem p(diagonal({1, 2}));
  p.b = {0, 0};
  p.x = {3, 4};
  const CgResult result = solve(p);
  EXPECT_EQ(result.stop, Stop::converged);
  EXPECT_EQ(result.iterations, 0U);
  EXPECT_EQ(p.x, (std::vector<double>{0, 0}));
}

TEST_P(OverlappedCg, RefusesSizesAndTolerances) {
  Problem p(diagonal({1, 2}));
  EXPECT_THROW(solve(p, nullptr, {.tolerance = NAN}), ompl::InputError);
  EXPECT_THROW(solve(p, nullptr, {.tolerance = 1}), ompl::InputError);
  p.b.push_back(1);
  EXPECT_THROW(solve(p), ompl::InputError);
}

// The residual by recurrence goes on to fall where the true one has long stopped, unless it is replaced.
TEST(PipelinedCg, ReplacementKeepsTheResidualTrue) {
  const Csr a = generate(stencil_7({1, 30, 900}), {{16, 17, 18}});
  const auto gap = [&](uint32_t replace_every) {
    Problem p(a);
    NoOverlappedReduction reduction;
    const CgResult result = pipelined_cg(p.op, nullptr, reduction, p.team, p.b, p.x,
                                         {.tolerance = 1e-13, .replace_every = replace_every});
    EXPECT_GT(result.iterations, 100U);
    return std::abs(true_relative_residual(p.op, p.reduction, p.team, p.b, p.x) -
                    result.relative_residual());
  };
  const double never = gap(0), replaced = gap(50);
  EXPECT_GT(never, 10 * replaced);
  EXPECT_LT(replaced, 1e-13);
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "solver/cg/exchange.hpp"
#include "solver/cg/operator.hpp"
#include "solver/cg/precondition.hpp"

namespace ompl::solver {

struct CgOptions {
  double tolerance = 1e-8;  // of |r| / |b|
  uint32_t max_iterations = 10000;
  // Of pipelined_cg(): iterations after which it computes its residual and what follows from it anew, for four products and
  // two preconditionings, 8 % more products at 50; 0: never.
  uint32_t replace_every = 50;
  // Called on every rank after each iteration with |r| / |b|; false, on all ranks, ends the solve.
  std::function<bool(uint32_t iteration, double relative_residual)> progress = {};
};

enum class Stop {
  converged,
  iterations,                 // max_iterations are done
  negative_curvature,         // p . A p is not above 0: the matrix is not positive definite
  indefinite_preconditioner,  // r . M^-1 r is not above 0
  not_finite,                 // NaN or infinity: in the input, or it overflowed
  asked,                      // by progress()
};
[[nodiscard]] std::string_view reason(Stop stop);

// Seconds of this rank.
struct CgSplit {
  double product = 0, halo_wait = 0, preconditioner = 0, reduction = 0, vectors = 0;
};

struct CgResult {
  Stop stop = Stop::iterations;
  uint32_t iterations = 0;
  uint32_t reductions = 0;  // sums over the ranks, those before the first iteration too
  std::vector<double>
      history;  // |r| / |b| after each iteration, by recurrence; history[0] before the first
  CgSplit seconds;
  [[nodiscard]] double relative_residual() const { return history.back(); }
};

// Conjugate gradients (Hestenes and Stiefel, 1952) from x on, which becomes the solution. b and x: this rank's rows.
// Collective over the ranks of `reduction`, all with the same options. Throws InputError if sizes differ, or the
// tolerance is not a number from 0 to below 1. b = 0 gives x = 0.
CgResult cg(Operator& a, Preconditioner* preconditioner, Reduction& reduction, Team& team,
            std::span<const double> b, std::span<double> x, const CgOptions& options = {});

// The same solution, by sums that are on their way while the ranks compute. Two sums an iteration, as cg(): one behind the
// preconditioner, one behind the product. One vector more is kept, two with a preconditioner. (gropp_cg.cpp)
CgResult gropp_cg(Operator& a, Preconditioner* preconditioner, OverlappedReduction& reduction,
                  Team& team, std::span<const double> b, std::span<double> x,
                  const CgOptions& options = {});

// The same by one sum an iteration, behind both; three vectors more than cg(), five with a preconditioner. Its roundings
// grow: |r| by recurrence parts from |b - A x| sooner than that of cg() does, by far where A is badly conditioned; see
// CgOptions::replace_every, and look at true_relative_residual(). (pipelined_cg.cpp)
CgResult pipelined_cg(Operator& a, Preconditioner* preconditioner, OverlappedReduction& reduction,
                      Team& team, std::span<const double> b, std::span<double> x,
                      const CgOptions& options = {});

// |b - A x| / |b|, computed anew. Collective.
[[nodiscard]] double true_relative_residual(Operator& a, Reduction& reduction, Team& team,
                                            std::span<const double> b, std::span<const double> x);

}  // namespace ompl::solver

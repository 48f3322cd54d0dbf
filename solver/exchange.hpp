// SPDX-License-Identifier: BSD-3-Clause
// What CG needs of other ranks. One thread of a rank calls these, the one that called cg().
#pragma once

#include <span>

namespace ompl::solver {

// Brings the values of other ranks' rows that this rank's rows need, in the order of LocalMatrix::pattern.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // x: the values of this rank's rows; unchanged until wait() returns.
  virtual void start(const double* x) = 0;
  // Moves data on, if they need it; between start() and wait(), as often as one likes.
  virtual void progress() noexcept {}
  // Of each neighbour where its values landed; valid until the next start().
  [[nodiscard]] virtual const double* const* wait() = 0;
};

// Replaces each value by its sum over all ranks, with the same bits on each.
class Reduction {
 public:
  virtual ~Reduction() = default;
  virtual void sum(std::span<double> values) = 0;
};

// One rank alone.
class NoExchange final : public Exchange {
 public:
  void start(const double* /*x*/) override {}
  [[nodiscard]] const double* const* wait() override { return nullptr; }
};

class NoReduction final : public Reduction {
 public:
  void sum(std::span<double> /*values*/) override {}
};

}  // namespace ompl::solver

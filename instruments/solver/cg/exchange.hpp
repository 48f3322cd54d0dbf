// SPDX-License-Identifier: BSD-3-Clause
// What CG needs of other ranks. One thread of a rank calls these, the one that called cg().
#pragma once

#include <span>
#include <vector>

namespace ompl::solver {

// What goes on while a rank computes.
class InBackground {
 public:
  virtual ~InBackground() = default;
  // Moves it on, if it needs that; between start and wait, as often as one likes, and at other times for nothing.
  virtual void progress() noexcept {}
};

// Brings the values of other ranks' rows that this rank's rows need, in the order of LocalMatrix::pattern.
class Exchange : public InBackground {
 public:
  // x: the values of this rank's rows; unchanged until wait() returns.
  virtual void start(const double* x) = 0;
  // Of each neighbour where its values landed; valid until the next start().
  [[nodiscard]] virtual const double* const* wait() = 0;
};

// Replaces each value by its sum over all ranks, with the same bits on each.
class Reduction {
 public:
  virtual ~Reduction() = default;
  virtual void sum(std::span<double> values) = 0;
};

// The same while the ranks compute; one sum at a time.
class OverlappedReduction : public InBackground {
 public:
  // values: copied, at most kMostSums.
  virtual void start(std::span<const double> values) = 0;
  // The sums, as many; valid until the next start().
  [[nodiscard]] virtual std::span<const double> wait() = 0;
};
inline constexpr std::size_t kMostSums = 8;

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

class NoOverlappedReduction final : public OverlappedReduction {
 public:
  void start(std::span<const double> values) override { values_.assign(values.begin(), values.end()); }
  [[nodiscard]] std::span<const double> wait() override { return values_; }

 private:
  std::vector<double> values_;
};

}  // namespace ompl::solver

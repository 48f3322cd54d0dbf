// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omnipgas/coll.h>

#include <array>
#include <cstdint>
#include <span>

#include "solver/cg/exchange.hpp"

namespace ompl::solver {

// Reductions over all ranks by recursive doubling: log2(ranks) puts with a signal, two more where the ranks are no power
// of 2. Ranks are paired alike each time, and a + b is b + a: all get the same bits, in every run. Throws LayerError.
class Sums final : public Reduction {
 public:
  Sums();  // collective; its memory lasts until ompl_finalize()
  void sum(std::span<double> values) override;
  void max(std::span<double> values);

 private:
  template <class Op>
  void combine(std::span<double> values, Op op);
  template <class Op>
  void combine_few(std::span<double> values, Op op);
  void send(uint32_t to, uint32_t round, std::span<const double> values);
  template <class Op>
  void receive(uint32_t round, std::span<double> values, Op op);
  [[nodiscard]] uint64_t slot(uint32_t round) const;

  uint32_t rank_, size_;
  uint32_t paired_;  // ranks that are a power of 2; the others give to one of these first
  uint32_t rounds_;  // of the paired ones
  uint64_t slots_ = 0;
  uint32_t turn_ = 0;  // reductions alternate between two sets of slots
};

// Sums over all ranks by ompl_allreduce(), whose recursive doubling gives all the same bits, in every run. Who progresses
// it is said by OMPL_COLL_PROGRESS. Throws LayerError.
class OverlappedSums final : public OverlappedReduction {
 public:
  OverlappedSums();  // collective
  void start(std::span<const double> values) override;
  void progress() noexcept override;
  [[nodiscard]] std::span<const double> wait() override;

 private:
  ompl_team* team_ = nullptr;
  ompl_request* request_ = nullptr;
  std::array<double, kMostSums> values_{};
  std::size_t count_ = 0;
  int tested_ = 0;  // what the last test said; an error ends the request, and wait() says so
};

}  // namespace ompl::solver

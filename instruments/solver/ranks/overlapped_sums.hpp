// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omnipgas/coll.h>

#include <array>

#include "solver/cg/exchange.hpp"

namespace ompl::solver {

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

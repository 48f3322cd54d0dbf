// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omnipgas/halo.h>

#include <chrono>
#include <string>
#include <vector>

#include "solver/cg/exchange.hpp"
#include "solver/partition/local.hpp"

namespace ompl::solver {

// The exchange of a part's pattern through <omnipgas/halo.h>; part p is rank p. Throws LayerError.
class HaloExchange final : public Exchange {
 public:
  // strategy: OMPL_HALO_DOUBLE_BUFFER, ... Collective.
  HaloExchange(const LocalMatrix& matrix, int32_t strategy);
  HaloExchange(const HaloExchange&) = delete;
  HaloExchange& operator=(const HaloExchange&) = delete;

  void start(const double* x) override;
  // Looks after the exchange, if that is not long since.
  void progress() noexcept override;
  [[nodiscard]] const double* const* wait() override;

  // What ompl_halo_describe() writes.
  [[nodiscard]] std::string describe() const;
  // Gives everything back; the last call. Collective, so it is not done where a rank has failed.
  void end();

 private:
  ompl_halo* halo_ = nullptr;
  std::vector<const double*> landed_;  // of each neighbour
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace ompl::solver

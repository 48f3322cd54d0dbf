// SPDX-License-Identifier: BSD-3-Clause
// A halo: a pattern, and what carries its exchanges. Thread rules are those of omnipgas/halo.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halo/carrier.hpp"
#include "halo/pattern.hpp"
#include "halo/setup_exchange.hpp"
#include "halo/trial.hpp"
#include "omnipgas/halo.h"

namespace ompl::halo {

class Halo {
 public:
  // Collective. (create.cpp)
  static int create(Runtime& runtime, Context& c, const ompl_halo_config* config,
                    const ompl_halo_neighbor* neighbors, std::size_t count, std::unique_ptr<Halo>* out);
  int release(Context& c);  // collective; gives memory and communicators back

  int start(Context& c, const void* const* vectors, Deadline deadline);
  int wait(Context& c, Deadline deadline);
  int wait_some(Context& c, std::size_t* indices, std::size_t* found, Deadline deadline);
  [[nodiscard]] const void* data(std::size_t neighbor, std::size_t vector) const;
  int unpack(std::size_t neighbor, void* const* vectors) const;
  [[nodiscard]] std::string describe() const;

 private:
  // One way to carry exchanges.
  struct StrategyCandidate {
    int32_t strategy;
    std::unique_ptr<Carrier> carrier;
    uint64_t time = 0;  // nanoseconds of an exchange, on the slowest rank; 0 if it was not tried
  };

  explicit Halo(Runtime& runtime) : runtime_(runtime), setup_(runtime) {}

  [[nodiscard]] bool may_use_mpi() const { return config_.strategy >= OMPL_HALO_MPI; }
  int read(const ompl_halo_config* config, std::span<const ompl_halo_neighbor> neighbors);
  int read(const ompl_halo_neighbor& given, std::size_t number);
  int lay_out(std::size_t* bytes);
  int make(Context& c, int own, uint64_t bytes);
  int all_went_on(Context& c, int own);
  int introduce(Context& c);
  int compare(const Neighbor& n) const;
  void list_candidates(bool with_mpi);
  int make_carriers(Context& c, uint64_t bytes);

  int choose_carrier(Context& c);
  int settle(Context& c);
  // Until `ready` of what the carrier last said.
  template <class Ready>
  int block(Context& c, Ready ready, Deadline deadline);

  Runtime& runtime_;
  ompl_halo_config config_ = OMPL_HALO_CONFIG_INIT;
  Pattern pattern_;
  uint64_t memory_ = 0;  // offset of the regions, one for each candidate
  SetupExchange setup_;
  std::vector<StrategyCandidate> candidates_;
  std::optional<Trial> trial_;           // until one is chosen
  StrategyCandidate* chosen_ = nullptr;  // for this exchange, or for all
  bool is_half_begun_ = false;           // the next exchange, by the chosen one
  std::atomic<uint64_t> exchange_{0};    // started last
  std::unique_ptr<std::atomic<uint64_t>[]>
      named_;  // by wait_some, per neighbour: in this exchange last
};

}  // namespace ompl::halo

// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by verbs alone, over a transport that the test chooses.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

class OverVerbs final : public Fabric {
 public:
  // OMPL_VERBS_TRANSPORT of every rank; of several, rank by rank.
  // `pools`: the number of endpoints of rank 0, 1, ..., over again; where empty, what the test asks for.
  explicit OverVerbs(std::vector<std::string> transports, std::vector<unsigned> pools = {})
      : transports_(std::move(transports)), pools_(std::move(pools)) {}

  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::verbs::make());
    return list;
  }
  void tune(uint32_t rank, Settings* settings) const override {
    settings->verbs_transport = transports_[rank % transports_.size()];
    if (!pools_.empty()) settings->endpoints = pools_[rank % pools_.size()];
    settings->node_id = "node of " + std::to_string(rank / 2 * 2);  // as XRC sees it
  }

 private:
  const std::vector<std::string> transports_;
  const std::vector<unsigned> pools_;
};

}  // namespace ompl::conformance

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "conduit/mock/wire.hpp"
#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

// All ranks on one hostile wire; only the own segment is mapped, as it must be.
class MockFabric : public Fabric {
 public:
  // `pools`: the number of endpoints of rank 0, 1, ..., over again; where empty, what the test asks for.
  MockFabric(uint32_t ranks, conduit::mock::Hostility hostility, std::vector<unsigned> pools = {})
      : wire_(ranks, seeded(std::move(hostility))), pools_(std::move(pools)) {}

  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::mock::make(wire_));
    return list;
  }
  // The mock's progress is slow: the default's many spins would only keep others from the cores.
  void tune(uint32_t rank, Settings* settings) const override {
    settings->spin = 20;
    if (!pools_.empty()) settings->endpoints = pools_[rank % pools_.size()];
  }
  [[nodiscard]] std::string describe() const override { return wire_.hostility().describe(); }
  conduit::mock::Wire& wire() { return wire_; }

 private:
  static conduit::mock::Hostility seeded(conduit::mock::Hostility hostility) {
    hostility.seed += static_cast<uint64_t>(GTEST_FLAG_GET(random_seed));
    return hostility;
  }
  conduit::mock::Wire wire_;
  const std::vector<unsigned> pools_;
};

// Nodes of several ranks: these share memory, and the wire joins the others.
class NodesFabric final : public MockFabric {
 public:
  using NodeOf = std::string (*)(uint32_t rank);
  NodesFabric(uint32_t ranks, NodeOf node_of, std::string scheduler = "lock-free")
      : MockFabric(ranks, {}), node_of_(node_of), scheduler_(std::move(scheduler)) {}

  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t rank) override {
    auto list = MockFabric::conduits(rank);
    list.insert(list.begin(), conduit::shm::make());
    return list;
  }
  void tune(uint32_t rank, Settings* settings) const override {
    MockFabric::tune(rank, settings);
    settings->node_id = node_of_(rank);
    settings->coll_scheduler = scheduler_;
  }

 private:
  const NodeOf node_of_;
  const std::string scheduler_;
};

}  // namespace ompl::conformance

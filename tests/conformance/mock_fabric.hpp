// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "conduit/mock/wire.hpp"
#include "conduit/self/conduit.hpp"
#include "conformance.hpp"

namespace ompl::conformance {

// All ranks on one hostile wire; only the own segment is mapped, as it must be.
class MockFabric final : public Fabric {
 public:
  MockFabric(uint32_t ranks, conduit::mock::Hostility hostility)
      : wire_(ranks, seeded(std::move(hostility))) {}

  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::mock::make(wire_));
    return list;
  }
  // The mock's progress is slow: the default's many spins would only keep others from the cores.
  void tune(Settings* settings) const override { settings->spin = 20; }
  [[nodiscard]] std::string describe() const override { return wire_.hostility().describe(); }
  conduit::mock::Wire& wire() { return wire_; }

 private:
  static conduit::mock::Hostility seeded(conduit::mock::Hostility hostility) {
    hostility.seed += static_cast<uint64_t>(GTEST_FLAG_GET(random_seed));
    return hostility;
  }
  conduit::mock::Wire wire_;
};

}  // namespace ompl::conformance

// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by uTofu alone.
#pragma once

#include <memory>
#include <vector>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

class OverUtofu final : public Fabric {
 public:
  // `endpoints` of each rank where a test does not say how many; 0: the layer's choice.
  explicit OverUtofu(unsigned endpoints = 0) : endpoints_(endpoints) {}

  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::utofu::make());
    return list;
  }
  void tune(uint32_t /*rank*/, Settings* settings) const override {
    if (settings->endpoints == 0) settings->endpoints = endpoints_;
  }

 private:
  const unsigned endpoints_;
};

inline std::unique_ptr<ThreadWorld> utofu_world(const Shape& shape) {
  return std::make_unique<ThreadWorld>(std::make_unique<OverUtofu>(), shape);
}

}  // namespace ompl::conformance

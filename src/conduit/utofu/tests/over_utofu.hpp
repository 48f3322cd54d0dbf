// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by uTofu alone.
#pragma once

#include <memory>
#include <utility>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

inline std::unique_ptr<Fabric> over_utofu(Tune tune = {}) {
  return fabric_of(std::move(tune), conduit::self::make, conduit::utofu::make);
}

inline std::unique_ptr<ThreadWorld> utofu_world(const Shape& shape) {
  return std::make_unique<ThreadWorld>(over_utofu(), shape);
}

}  // namespace ompl::conformance

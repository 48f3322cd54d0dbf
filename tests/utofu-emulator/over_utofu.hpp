// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by uTofu alone.
#pragma once

#include <memory>

#include "../conformance/conformance.hpp"
#include "conduit/self/conduit.hpp"
#include "conduit/utofu/conduit.hpp"

namespace ompl::conformance {

inline std::unique_ptr<ThreadWorld> utofu_world(const Shape& shape) {
  const auto fabric = every_rank(conduit::self::make, conduit::utofu::make);
  return std::make_unique<ThreadWorld>(fabric(shape.ranks), shape);
}

}  // namespace ompl::conformance

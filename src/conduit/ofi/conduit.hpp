// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "conduit/conduit.hpp"

namespace ompl::conduit::ofi {

// What some providers ask for and those of every machine do not: tests have it so everywhere.
struct Demands {
  bool registration = false;   // as if local memory had to be registered (FI_MR_LOCAL)
  bool unordered = false;      // as if nothing but messages were ordered
  bool no_immediates = false;  // as if there were no CQ data of 8 bytes
};

std::unique_ptr<Conduit> make_demanding(const Demands& demands);
inline std::unique_ptr<Conduit> make() { return make_demanding({}); }

}  // namespace ompl::conduit::ofi

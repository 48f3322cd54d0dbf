// SPDX-License-Identifier: BSD-3-Clause
// A queue pair that several links send by: to all ranks of a node (xrc.hpp), or to one after the other (dc.hpp).
#pragma once

#include <cstdint>

#include "conduit/verbs/library.hpp"

namespace ompl::conduit::verbs {

struct Initiator {
  Owned<ibv_qp> pair{nullptr, nullptr};
  uint32_t outstanding = 0;  // requests of all links
  bool broken = false;
};

}  // namespace ompl::conduit::verbs

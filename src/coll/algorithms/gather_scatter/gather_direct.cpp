// SPDX-License-Identifier: BSD-3-Clause
// Gather in which every member puts its block to the root at once. L + 2o + (n - 2) g + (n - 1) m G at the root.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void gather_direct(const CollectiveCall& call, Builder& b) {
  if (call.me != call.root) {
    b.send(call.root, kSent, call.length);
    return;
  }
  const Blocks all = received_blocks(call);
  if (!call.in_place) b.copy(kSent, kReceived.plus(all.at(call.me)), all.of(call.me));
  for (uint32_t k = 1; k < call.size; ++k) {
    const uint32_t from = above(call, k);
    b.receive(from, kReceived.plus(all.at(from)), all.of(from));
  }
}

}  // namespace ompl::coll

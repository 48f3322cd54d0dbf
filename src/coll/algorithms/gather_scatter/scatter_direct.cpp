// SPDX-License-Identifier: BSD-3-Clause
// Scatter in which the root puts every member's block at once. L + 2o + (n - 2) g + (n - 1) m G at the root.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void scatter_direct(const CollectiveCall& call, Builder& b) {
  if (call.me != call.root) {
    b.receive(call.root, kReceived, call.length);
    return;
  }
  const Blocks all = sent_blocks(call);
  if (!call.in_place) b.copy(kSent.plus(all.at(call.me)), kReceived, all.of(call.me));
  for (uint32_t k = 1; k < call.size; ++k) {
    const uint32_t to = above(call, k);
    b.send(to, kSent.plus(all.at(to)), all.of(to));
  }
}

}  // namespace ompl::coll

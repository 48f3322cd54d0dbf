// SPDX-License-Identifier: BSD-3-Clause
// Allgather in which every member puts its block to every other at once. L + 2o + (n - 2) g + (n - 1) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_direct(const CollectiveCall& call, Builder& b) {
  const Blocks all = received_blocks(call);
  const uint64_t own = all.of(call.me);
  const Place source = own_block(call, b, all);
  for (uint32_t k = 1; k < call.size; ++k) {
    const uint32_t from = below(call, k);
    b.send(above(call, k), source, own);
    b.receive(from, kReceived.plus(all.at(from)), all.of(from));
  }
}

}  // namespace ompl::coll

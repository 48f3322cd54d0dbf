// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather, for short blocks and any number of members: what is there, turned so that the own block is first, doubles in each
// round (J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997).
// ceil(log2 n) (L + 2o) + (n - 1) m G, and a copy.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_bruck(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const Blocks all = received_blocks(call);
  std::vector<uint64_t> at(n + 1, 0);  // of the turned blocks
  for (uint32_t i = 0; i < n; ++i) at[i + 1] = at[i] + all.of(above(call, i));
  const Place turned = b.scratch(at[n]);
  b.copy(call.in_place ? kReceived.plus(all.at(call.me)) : kSent, turned, at[1]);
  b.next_round();
  for (uint32_t held = 1; held < n; held *= 2) {
    const uint32_t count = std::min(held, n - held);
    b.send(below(call, held), turned, at[count]);
    b.receive(above(call, held), turned.plus(at[held]), at[held + count] - at[held]);
    b.next_round();
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t member = above(call, i);
    b.copy(turned.plus(at[i]), kReceived.plus(all.at(member)), all.of(member));
  }
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Allgather by exchanging all that is there with members at distance 1, 2, 4, ... (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization
// of collective communication operations in MPICH", 2005). log2 n (L + 2o) + (n - 1) m G, and two messages more where n is no
// power of two.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_recursive_doubling(const CollectiveCall& call, Builder& b) {
  const Groups groups(call);
  const Blocks all = received_blocks(call);
  const uint64_t own = all.of(call.me);
  const Place source = own_block(call, b, all);
  if (groups.hands_over) {
    const uint32_t upper = call.me + 1;
    b.send(upper, source, own);
    Ranges rest = blocks(all, kReceived, 0, call.me);
    const Ranges after = blocks(all, kReceived, upper, call.size);
    rest.insert(rest.end(), after.begin(), after.end());
    b.exchange(upper, {}, upper, rest);
    return;
  }
  if (groups.takes_over)
    b.receive(call.me - 1, kReceived.plus(all.at(call.me - 1)), all.of(call.me - 1));
  for (uint32_t held = 1; held < groups.count; held *= 2) {
    const uint32_t mine_first = groups.mine & ~(held - 1);
    const uint32_t theirs = mine_first ^ held;
    const uint32_t peer = groups.acting(groups.mine ^ held);
    b.exchange(peer, blocks(all, kReceived, groups.first(mine_first), groups.first(mine_first + held)),
               peer, blocks(all, kReceived, groups.first(theirs), groups.first(theirs + held)));
  }
  if (!groups.takes_over) return;
  const uint32_t lower = call.me - 1;
  Ranges rest = blocks(all, kReceived, 0, lower);
  const Ranges after = blocks(all, kReceived, call.me, call.size);
  rest.insert(rest.end(), after.begin(), after.end());
  b.exchange(lower, rest, lower, {});
}

}  // namespace ompl::coll

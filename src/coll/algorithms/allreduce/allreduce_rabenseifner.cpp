// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's allreduce for long data: a reduce-scatter by recursive halving, then an allgather by recursive doubling
// (R. Rabenseifner, "Optimization of collective reduction operations", 2004). With n a power of two
// 2 log2 n (L + 2o) + (n - 1)/n m (2 G + c).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allreduce_rabenseifner(const CollectiveCall& call, Builder& b) {
  const Groups groups(call);
  if (hand_over(groups, call, b, call.length, call.length)) return;
  Place have = call.own();
  if (groups.takes_over) {
    b.combine(call.me - 1, have, kReceived, call.length);
    b.next_round();
    have = kReceived;
  }
  const Parts parts{call.length, call.element, groups.count};
  halve(groups, b, have, kReceived, [&](uint32_t group) { return parts.at(group); });
  for (uint32_t held = 1; held < groups.count; held *= 2) {
    const uint32_t peer = groups.acting(groups.mine ^ held);
    const uint32_t mine = groups.mine & ~(held - 1);
    const uint32_t theirs = mine ^ held;
    b.send(peer, kReceived.plus(parts.at(mine)), parts.between(mine, mine + held));
    b.receive(peer, kReceived.plus(parts.at(theirs)), parts.between(theirs, theirs + held));
    b.next_round();
  }
  if (groups.takes_over) b.send(call.me - 1, kReceived, call.length);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by exchanging everything with members at distance 1, 2, 4, ...: for short data (R. Thakur, R. Rabenseifner, W. Gropp,
// "Optimization of collective communication operations in MPICH", 2005). log2 n (L + 2o + m G + m c), and two messages more
// where n is no power of two. Keeps the members' order. What is sent is not combined into meanwhile: two buffers are used in turn.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allreduce_recursive_doubling(const CollectiveCall& call, Builder& b) {
  const Groups groups(call);
  if (hand_over(groups, call, b, call.length, call.length)) return;
  const Place other = b.scratch(call.length);
  auto left = static_cast<uint32_t>(std::countr_zero(groups.count)) + (groups.takes_over ? 1 : 0);
  const auto next = [&] { return --left % 2 == 0 ? kReceived : other; };  // the last one is the result
  Place have = call.own();
  if (groups.takes_over) {
    const Place to = next();
    b.combine(call.me - 1, have, to, call.length);
    b.next_round();
    have = to;
  } else if (call.in_place && left % 2 == 1) {
    b.copy(have, other, call.length);
    b.next_round();
    have = other;
  }
  for (uint32_t distance = 1; distance < groups.count; distance *= 2) {
    const uint32_t partner = groups.mine ^ distance;
    const uint32_t peer = groups.acting(partner);
    const Place to = next();
    b.send_combined(peer, have, call.length);
    b.combine(peer, have, to, call.length, partner > groups.mine);
    b.next_round();
    have = to;
  }
  if (groups.takes_over) b.send(call.me - 1, kReceived, call.length);
}

}  // namespace ompl::coll

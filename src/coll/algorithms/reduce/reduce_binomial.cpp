// SPDX-License-Identifier: BSD-3-Clause
// Reduction up a binomial tree (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
// MPICH", 2005). An operation that does not commute is reduced to member 0 and sent on. ceil(log2 n) (L + 2o + m G + m c).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

Place combine_up(const CollectiveCall& call, Builder& b, uint32_t top, uint64_t length, Place room) {
  const uint32_t place = below(call, top);
  const auto member = [&](uint32_t at) { return (at + top) % call.size; };
  Place have = call.own();
  for (uint32_t reach = 1; reach < call.size; reach *= 2) {
    if ((place & reach) != 0) {
      b.send_combined(member(place - reach), have, length);
      b.next_round();
      break;
    }
    if (place + reach >= call.size) continue;
    b.combine(member(place + reach), have, room, length, true);
    b.next_round();
    have = room;
  }
  return have;
}

void reduce_binomial(const CollectiveCall& call, Builder& b) {
  const uint32_t top = call.commutative ? call.root : 0;
  const Place room = call.me == call.root ? kReceived : b.scratch(call.length);
  const Place result = combine_up(call, b, top, call.length, room);
  if (top == call.root) return;
  if (call.me == top) b.send(call.root, result, call.length);
  if (call.me == call.root) b.receive(top, kReceived, call.length);
}

}  // namespace ompl::coll

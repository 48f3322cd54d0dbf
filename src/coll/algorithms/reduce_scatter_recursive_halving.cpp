// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by exchanging halves with members at distance n/2, n/4, ... (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", 2005). log2 n (L + 2o) + (n - 1) m (G + c), and two messages more where n is no
// power of two.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void reduce_scatter_recursive_halving(const Call& call, Builder& b) {
  const Groups groups(call);
  const uint64_t block = call.length;
  const uint64_t all = call.size * block;
  if (groups.hands_over) {
    b.send_combined(call.me + 1, call.own(), all);
    b.next_round();
    b.receive(call.me + 1, kReceived, block);
    return;
  }
  const Place room = b.scratch(all);
  Place have = call.own();
  if (groups.takes_over) {
    b.combine(call.me - 1, have, room, all);
    b.next_round();
    have = room;
  }
  uint32_t low = 0;
  for (uint32_t half = groups.count / 2; half > 0; half /= 2) {
    const bool upper = (groups.mine & half) != 0;
    const uint32_t peer = groups.acting(groups.mine ^ half);
    const uint32_t kept = upper ? low + half : low;
    const uint32_t given = upper ? low : low + half;
    const auto at = [&](uint32_t group) { return groups.first(group) * block; };
    b.send_combined(peer, have.plus(at(given)), at(given + half) - at(given));
    b.combine(peer, have.plus(at(kept)), room.plus(at(kept)), at(kept + half) - at(kept));
    b.next_round();
    have = room;
    low = kept;
  }
  b.copy(room.plus(call.me * block), kReceived, block);
  if (groups.takes_over) b.send(call.me - 1, room.plus((call.me - 1) * block), block);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by exchanging halves with members at distance n/2, n/4, ... (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", 2005). log2 n (L + 2o) + (n - 1) m (G + c), and two messages more where n is no
// power of two.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void reduce_scatter_recursive_halving(const CollectiveCall& call, Builder& b) {
  const Groups groups(call);
  const Blocks blocks = received_blocks(call);
  const uint64_t all = extent(blocks, call.size);
  if (hand_over(groups, call, b, all, blocks.of(call.me))) return;
  const Place room = b.scratch(all);
  Place have = call.own();
  if (groups.takes_over) {
    b.combine(call.me - 1, have, room, all);
    b.next_round();
    have = room;
  }
  halve(groups, b, have, room,
        [&](uint32_t group) { return group < groups.count ? blocks.at(groups.first(group)) : all; });
  b.copy(room.plus(blocks.at(call.me)), kReceived, blocks.of(call.me));
  if (groups.takes_over) b.send(call.me - 1, room.plus(blocks.at(call.me - 1)), blocks.of(call.me - 1));
}

}  // namespace ompl::coll

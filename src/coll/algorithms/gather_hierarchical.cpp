// SPDX-License-Identifier: BSD-3-Clause
// Gather in two levels, for short blocks (T. Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide
// area systems", 1999): each leader sends the root the blocks of its node in one message. With p members on each of N nodes, L' and G' within a
// node: L' + 2o + (p - 2) g + (p - 1) m G' + L + 2o + (N - 2) g + (n - p) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void gather_hierarchical(const Call& call, Builder& b) {
  const Levels levels(call);
  const uint64_t block = call.length;
  if (!levels.leads(call)) {
    b.send(levels.node.front(), kSent, block);
    return;
  }
  const bool at_root = call.me == call.root;
  const bool whole = at_root && levels.in_order();
  const uint32_t first = at_root ? 0 : levels.firsts[levels.mine];  // that this member holds
  const uint32_t end = at_root ? call.size : levels.firsts[levels.mine + 1];
  const Place room = whole ? kReceived : b.scratch((end - first) * block);
  const Place own = at_root && call.in_place ? kReceived.plus(call.me * block) : kSent;
  for (uint32_t i = levels.firsts[levels.mine]; i < levels.firsts[levels.mine + 1]; ++i) {
    const uint32_t member = levels.order[i];
    const Place place = room.plus((i - first) * block);
    member == call.me ? b.copy(own, place, block) : b.receive(member, place, block);
  }
  if (!at_root) {
    b.next_round();
    b.send(call.root, room, (end - first) * block);
    return;
  }
  for (uint32_t node = 0; node < levels.leaders.size(); ++node)
    if (node != levels.mine)
      b.receive(levels.leaders[node], room.plus(levels.firsts[node] * block),
                (levels.firsts[node + 1] - levels.firsts[node]) * block);
  b.next_round();
  for (uint32_t i = 0; i < call.size && !whole; ++i)
    b.copy(room.plus(i * block), kReceived.plus(levels.order[i] * block), block);
}

}  // namespace ompl::coll

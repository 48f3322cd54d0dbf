// SPDX-License-Identifier: BSD-3-Clause
// Allgather in two levels (J. L. Träff, "Efficient allgather for regular SMP-clusters", 2006): the blocks of a node's members go to their
// leader, leaders do an allgather of whole nodes, and each broadcasts all blocks in its node. Between nodes every block goes once to each. With p
// members on each of N nodes, L' and G' within a node, and short blocks:
// L' + 2o + (p - 2) g + (p - 1) m G' + ceil(log2 N) (L + 2o) + (n - p) m G + ceil(log2 p) (L' + 2o + n m G').
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const Blocks all = received_blocks(call);
  std::vector<uint64_t> at{0};  // of the blocks in the order of the nodes, and the end
  bool in_order = true;
  for (const uint32_t member : levels.order) {
    in_order = in_order && all.at(member) == at.back();
    at.push_back(at.back() + all.of(member));
  }
  const Place room = in_order ? kReceived : b.scratch(at.back());
  const Place own = call.in_place ? kReceived.plus(all.at(call.me)) : kSent;
  if (levels.leads(call)) {
    for (uint32_t i = levels.firsts[levels.mine]; i < levels.firsts[levels.mine + 1]; ++i) {
      const uint32_t member = levels.order[i];
      const Place place = room.plus(at[i]);
      member == call.me ? b.copy(own, place, all.of(member)) : b.receive(member, place, all.of(member));
    }
    b.next_round();
    CollectiveCall between =
        levels.between(call, OMPL_ALLGATHER, levels.blocks_of_nodes([&](uint32_t i) { return at[i]; }));
    between.in_place = true;
    b.among(levels.leaders);
    b.buffers(kSent, room);
    compile_part(between, b);
  } else {
    b.send(levels.leader(), own, all.of(call.me));
  }
  b.next_round();
  CollectiveCall within = levels.within(call, OMPL_BROADCAST);
  within.length = at.back();
  b.among(levels.node);
  b.buffers(kSent, room);
  compile_part(within, b);
  b.next_round();
  b.buffers(kSent, kReceived);
  for (uint32_t i = 0; i < call.size && !in_order; ++i)
    b.copy(room.plus(at[i]), kReceived.plus(all.at(levels.order[i])), all.of(levels.order[i]));
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Gather in two levels, for short blocks (T. Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide
// area systems", 1999): each leader sends the root the blocks of its node in one message. With p members on each of N nodes, L' and G' within a
// node: L' + 2o + (p - 2) g + (p - 1) m G' + L + 2o + (N - 2) g + (n - p) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void gather_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const bool at_root = call.me == call.root;
  const Gathered held(call, levels, kReceived, b);
  CollectiveCall within = levels.within(call, OMPL_GATHER);
  within.in_place = false;
  b.among(levels.node);
  b.buffers(call.in_place ? kReceived.plus(call.me * call.length) : kSent, held.node);
  compile_part(within, b);
  if (!levels.leads(call)) return;
  if (!at_root) b.next_round();
  CollectiveCall between = levels.between(call, OMPL_GATHER, held.nodes);
  between.in_place = at_root;
  b.among(levels.leaders);
  b.buffers(held.node, held.all);
  compile_part(between, b);
  b.next_round();
  b.buffers(kSent, kReceived);
  for (uint32_t i = 0; i < call.size && at_root; ++i)
    b.copy(held.all.plus(i * call.length), kReceived.plus(levels.order[i] * call.length), call.length);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Scatter in two levels, for short blocks (T. Kielmann et al., "MagPIe: MPI's collective communication operations for clustered
// wide area systems", 1999): the root sends each leader the blocks of its node in one message. With p members on each of N nodes, L' and G'
// within a node: L + 2o + (N - 2) g + (n - p) m G + L' + 2o + (p - 2) g + (p - 1) m G'.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void scatter_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const bool at_root = call.me == call.root;
  const Gathered held(call, levels, kSent, b);
  for (uint32_t i = 0; i < call.size && at_root; ++i)
    b.copy(kSent.plus(levels.order[i] * call.length), held.all.plus(i * call.length), call.length);
  b.next_round();
  if (levels.leads(call)) {
    CollectiveCall between = levels.between(call, OMPL_SCATTER, held.nodes);
    between.in_place = at_root;
    b.among(levels.leaders);
    b.buffers(held.all, held.node);
    compile_part(between, b);
    if (!at_root) b.next_round();
  }
  b.among(levels.node);
  b.buffers(held.node, kReceived);
  compile_part(levels.within(call, OMPL_SCATTER), b);
}

}  // namespace ompl::coll

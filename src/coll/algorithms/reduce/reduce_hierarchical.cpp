// SPDX-License-Identifier: BSD-3-Clause
// Reduction in two levels (T. Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide area
// systems", 1999): each node's data are combined up a binomial tree to its leader, then those of the leaders, of whom the root is one. With p
// members on each of N nodes, L' and G' within a node:
// ceil(log2 p) (L' + 2o + m G' + m c) + ceil(log2 N) (L + 2o + m G + m c).
// The order of the members is lost where those of a node do not stand together.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void reduce_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const Place room = call.me == call.root ? kReceived : b.scratch(call.length);
  b.among(levels.node);
  const CollectiveCall within = levels.within(call, OMPL_REDUCE);
  const Place have = combine_up(within, b, within.root, call.length, room);
  if (!levels.leads(call)) return;
  CollectiveCall between = levels.between(call, OMPL_REDUCE);
  between.in_place = false;
  b.next_round();
  b.among(levels.leaders);
  b.buffers(have, kReceived);
  compile_part(between, b);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Broadcast in two levels (T. Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide area
// systems", 1999): among leaders, of which the root is one, then in each node from its leader. Between N nodes every byte goes once to
// each. With p members on each, L' and G' within a node, and binomial trees ceil(log2 N) (L + 2o + m G) + ceil(log2 p) (L' + 2o + m G').
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void broadcast_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  if (levels.leads(call)) {
    b.among(levels.leaders);
    compile_part(levels.between(call, OMPL_BROADCAST), b);
    b.next_round();
  }
  b.among(levels.node);
  compile_part(levels.within(call, OMPL_BROADCAST), b);
}

}  // namespace ompl::coll

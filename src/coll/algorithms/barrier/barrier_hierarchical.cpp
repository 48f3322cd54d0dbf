// SPDX-License-Identifier: BSD-3-Clause
// Barrier in two levels (H. Zhu, D. Goodell, W. Gropp, R. Thakur, "Hierarchical collectives in MPICH2", 2009): the members of a node
// tell their leader, leaders meet by dissemination, and tell their members. With p members on each of N nodes, L' within a
// node, 2 (L' + p o) + ceil(log2 N) (L + 2o).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void barrier_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const uint32_t leader = levels.leader();
  if (!levels.leads(call)) {
    b.notify(leader);
    b.next_round();
    b.await(leader);
    return;
  }
  for (const uint32_t member : levels.node)
    if (member != leader) b.await(member);
  b.next_round();
  b.among(levels.leaders);
  compile_part(levels.between(call, OMPL_BARRIER), b);
  b.next_round();
  b.among({});
  for (const uint32_t member : levels.node)
    if (member != leader) b.notify(member);
}

}  // namespace ompl::coll

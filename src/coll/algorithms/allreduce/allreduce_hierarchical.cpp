// SPDX-License-Identifier: BSD-3-Clause
// Allreduce in two levels (H. Zhu, D. Goodell, W. Gropp, R. Thakur, "Hierarchical collectives in MPICH2", 2009): each node's data are
// combined up a binomial tree to its leader, leaders do an allreduce, and each broadcasts the result in its node. With p members on each of N
// nodes, L' and G' within a node, short data: ceil(log2 p) (2 (L' + 2o + m G') + m c) + ceil(log2 N) (L + 2o + m G + m c).
// The order of the members is lost where those of a node do not stand together.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void allreduce_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const CollectiveCall within = levels.within(call, OMPL_REDUCE);
  b.among(levels.node);
  const Place have = combine_up(within, b, within.root, call.length, kReceived);
  b.next_round();
  if (levels.leads(call)) {
    CollectiveCall between = levels.between(call, OMPL_ALLREDUCE);
    between.in_place = have.buffer == CallBuffer::receive;
    b.among(levels.leaders);
    compile_part(between, b);
    b.next_round();
    b.among(levels.node);
  }
  compile_part(levels.within(call, OMPL_BROADCAST), b);
}

}  // namespace ompl::coll

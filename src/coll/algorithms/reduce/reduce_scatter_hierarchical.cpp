// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter in two levels, as H. Zhu, D. Goodell, W. Gropp, R. Thakur ("Hierarchical collectives in MPICH2", 2009) do reductions: each
// node's data are combined up a binomial tree to its leader, leaders do a reduce-scatter with the blocks of a node as one, and each hands out its
// members'. Between nodes every byte goes once from each to each other. With p members on each of N nodes, L' and G' within a node:
// ceil(log2 p) (L' + 2o + n m (G' + c)) + ceil(log2 N) (L + 2o) + (n - p) m (G + c) + L' + 2o + (p - 2) g + (p - 1) m G'.
// The order of the members is lost where those of a node do not stand together.
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {

void reduce_scatter_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const uint64_t block = call.length;
  const uint64_t all = call.size * block;
  const Blocks nodes = levels.blocks_of_nodes([&](uint32_t i) { return i * block; });
  const CollectiveCall up = levels.within(call, OMPL_REDUCE);
  b.among(levels.node);
  Place sums = combine_up(up, b, up.root, all, b.scratch(all));
  Place mine;  // of the node's members
  if (levels.leads(call)) {
    mine = b.scratch(nodes.of(levels.mine));
    if (!levels.in_order()) {
      const Place unordered = std::exchange(sums, b.scratch(all));
      for (uint32_t i = 0; i < call.size; ++i)
        b.copy(unordered.plus(levels.order[i] * block), sums.plus(i * block), block);
      b.next_round();
    }
    CollectiveCall between = levels.between(call, OMPL_REDUCE_SCATTER, nodes);
    between.in_place = false;
    b.among(levels.leaders);
    b.buffers(sums, mine);
    compile_part(between, b);
    b.next_round();
  }
  CollectiveCall out = levels.within(call, OMPL_SCATTER);
  out.in_place = false;
  b.among(levels.node);
  b.buffers(mine, kReceived);
  compile_part(out, b);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter that keeps the members' order: everything is reduced to member 0, up a binomial tree, and handed out.
// (ceil(log2 n) + 1) (L + 2o) + n m (ceil(log2 n) (G + c) + G).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"

namespace ompl::coll {

void reduce_scatter_binomial(const CollectiveCall& call, Builder& b) {
  const uint64_t block = call.length;
  const Place result = combine_up(call, b, 0, call.size * block, b.scratch(call.size * block));
  if (call.me != 0) {
    b.receive(0, kReceived, block);
    return;
  }
  b.copy(result, kReceived, block);
  for (uint32_t to = 1; to < call.size; ++to) b.send(to, result.plus(to * block), block);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter around a ring: each block is combined on its way to its member (P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009). (n - 1) (L + 2o + m (G + c)). One block is sent while the next is combined
// elsewhere.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void reduce_scatter_ring(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const uint64_t block = call.length;
  const Place rooms[2] = {b.scratch(block), b.scratch(block)};
  Place have = call.own().plus(below(call, 1) * block);
  for (uint32_t k = 0; k + 1 < n; ++k) {
    const bool last = k + 2 == n;
    const Place to = last && !call.in_place ? kReceived : rooms[k % 2];
    b.send_combined(above(call, 1), have, block);
    b.combine(below(call, 1), call.own().plus(below(call, k + 2) * block), to, block);
    b.next_round();
    have = to;
  }
  if (call.in_place) b.copy(have, kReceived, block);
}

}  // namespace ompl::coll

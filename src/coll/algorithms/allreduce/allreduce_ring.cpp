// SPDX-License-Identifier: BSD-3-Clause
// Allreduce around a ring: parts are combined on their way round, then passed round once more (P. Patarasuk, X. Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009). 2 (n - 1) (L + 2o) + (n - 1)/n m (2 G + c).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allreduce_ring(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const Parts parts{call.length, call.element, n};
  for (uint32_t k = 0; k + 1 < n; ++k) {
    const uint32_t out = below(call, k);
    const uint32_t in = below(call, k + 1);
    const Place from = k == 0 ? call.own() : kReceived;
    b.send_combined(above(call, 1), from.plus(parts.at(out)), parts.of(out));
    b.combine(below(call, 1), call.own().plus(parts.at(in)), kReceived.plus(parts.at(in)),
              parts.of(in));
    b.next_round();
  }
  for (uint32_t k = 0; k + 1 < n; ++k) {
    const uint32_t out = below(call, k + n - 1);
    const uint32_t in = below(call, k);
    b.send(above(call, 1), kReceived.plus(parts.at(out)), parts.of(out));
    b.receive(below(call, 1), kReceived.plus(parts.at(in)), parts.of(in));
    b.next_round();
  }
}

}  // namespace ompl::coll

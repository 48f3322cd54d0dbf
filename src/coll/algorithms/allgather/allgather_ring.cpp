// SPDX-License-Identifier: BSD-3-Clause
// Allgather around a ring: each block is passed on as it came (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
// communication operations in MPICH", 2005). (n - 1) (L + 2o + m G).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_ring(const CollectiveCall& call, Builder& b) {
  const Blocks all = received_blocks(call);
  const Place source = own_block(call, b, all);
  for (uint32_t k = 0; k + 1 < call.size; ++k) {
    const uint32_t out = below(call, k);
    const uint32_t in = below(call, k + 1);
    b.send(above(call, 1), k == 0 ? source : kReceived.plus(all.at(out)), all.of(out));
    b.receive(below(call, 1), kReceived.plus(all.at(in)), all.of(in));
    b.next_round();
  }
}

}  // namespace ompl::coll

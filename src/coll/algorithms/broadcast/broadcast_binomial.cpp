// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down a binomial tree, the largest subtree first (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
// communication operations in MPICH", 2005). ceil(log2 n) (L + 2o + m G).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void broadcast_binomial(const CollectiveCall& call, Builder& b) {
  const uint32_t place = below(call, call.root);  // in the tree, the root being 0
  const auto member = [&](uint32_t at) { return (at + call.root) % call.size; };
  uint32_t reach = 1;
  while (reach < call.size && (place & reach) == 0) reach *= 2;
  if (place != 0) b.receive(member(place - reach), kReceived, call.length);
  b.next_round();
  for (reach /= 2; reach > 0; reach /= 2)
    if (place + reach < call.size) b.send(member(place + reach), kReceived, call.length);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data: parts are scattered down a binomial tree, then gathered around a ring (M. Barnett et al., "Interprocessor
// collective communication library", 1994). (ceil(log2 n) + n - 1) (L + 2o) + 2 (n - 1)/n m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void broadcast_scatter_allgather(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const Parts parts{call.length, 1, n};
  const uint32_t place = below(call, call.root);
  const auto member = [&](uint32_t at) { return (at + call.root) % n; };
  const auto span = [&](uint32_t at, uint32_t reach) { return std::min(at + reach, n); };
  uint32_t reach = 1;
  while (reach < n && (place & reach) == 0) reach *= 2;
  if (place != 0)
    b.receive(member(place - reach), kReceived.plus(parts.at(place)),
              parts.between(place, span(place, reach)));
  b.next_round();
  for (reach /= 2; reach > 0; reach /= 2) {
    const uint32_t to = place + reach;
    if (to < n) b.send(member(to), kReceived.plus(parts.at(to)), parts.between(to, span(to, reach)));
  }
  b.next_round();
  for (uint32_t k = 0; k + 1 < n; ++k) {
    const uint32_t out = (place + n - k) % n;
    const uint32_t in = (place + n - k - 1) % n;
    b.send(above(call, 1), kReceived.plus(parts.at(out)), parts.of(out));
    b.receive(below(call, 1), kReceived.plus(parts.at(in)), parts.of(in));
    b.next_round();
  }
}

}  // namespace ompl::coll

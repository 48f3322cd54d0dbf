// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree, for short blocks (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
// operations in MPICH", 2005). ceil(log2 n) (L + 2o) + (n - 1) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void gather_binomial(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const uint64_t block = call.length;
  const uint32_t place = below(call, call.root);
  const auto member = [&](uint32_t at) { return (at + call.root) % n; };
  if (place == 0) {
    if (!call.in_place) b.copy(kSent, kReceived.plus(call.me * block), block);
    // Blocks of a subtree follow each other but where the members' numbers begin again.
    for (uint32_t reach = 1; reach < n; reach *= 2) {
      const uint32_t first = member(reach);
      const uint32_t count = std::min(std::min(reach, n - reach), n - first);
      b.receive(first, kReceived.plus(first * block), count * block);
    }
    b.next_round();
    for (uint32_t reach = 1; reach < n; reach *= 2) {
      const uint32_t first = member(reach);
      const uint32_t count = std::min(reach, n - reach);
      if (first + count > n) b.receive(first, kReceived, (first + count - n) * block);
    }
    return;
  }
  const uint32_t reach = place & (~place + 1);  // to the parent
  const uint32_t count = std::min(reach, n - place);
  const Place held = count == 1 ? kSent : b.scratch(count * block);
  if (count > 1) b.copy(kSent, held, block);
  for (uint32_t child = 1; child < count; child *= 2)
    b.receive(member(place + child), held.plus(child * block), std::min(child, count - child) * block);
  b.next_round();
  const uint32_t parent = member(place - reach);
  const uint32_t first = place == reach ? std::min(count, n - call.me) : count;
  b.send(parent, held, first * block);
  b.next_round();
  b.send(parent, held.plus(first * block), (count - first) * block);
}

}  // namespace ompl::coll

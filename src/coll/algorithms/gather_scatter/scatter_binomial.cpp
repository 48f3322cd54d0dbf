// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree, for short blocks (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
// operations in MPICH", 2005). ceil(log2 n) (L + 2o) + (n - 1) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void scatter_binomial(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const uint64_t block = call.length;
  const uint32_t place = below(call, call.root);
  const auto member = [&](uint32_t at) { return (at + call.root) % n; };
  if (place == 0) {
    if (!call.in_place) b.copy(kSent.plus(call.me * block), kReceived, block);
    // Blocks of a subtree follow each other but where the members' numbers begin again.
    for (uint32_t reach = std::bit_floor(n - 1); reach > 0; reach /= 2) {
      const uint32_t first = member(reach);
      const uint32_t count = std::min(std::min(reach, n - reach), n - first);
      b.send(first, kSent.plus(first * block), count * block);
    }
    b.next_round();
    for (uint32_t reach = std::bit_floor(n - 1); reach > 0; reach /= 2) {
      const uint32_t first = member(reach);
      const uint32_t count = std::min(reach, n - reach);
      if (first + count > n) b.send(first, kSent, (first + count - n) * block);
    }
    return;
  }
  const uint32_t reach = place & (~place + 1);  // to the parent
  const uint32_t count = std::min(reach, n - place);
  const Place held = count == 1 ? kReceived : b.scratch(count * block);
  const uint32_t parent = member(place - reach);
  const uint32_t first = place == reach ? std::min(count, n - call.me) : count;
  b.receive(parent, held, first * block);
  b.next_round();
  b.receive(parent, held.plus(first * block), (count - first) * block);
  b.next_round();
  for (uint32_t child = std::bit_floor(count - 1); child > 0; child /= 2)
    b.send(member(place + child), held.plus(child * block), std::min(child, count - child) * block);
  if (count > 1) b.copy(held, kReceived, block);
}

}  // namespace ompl::coll

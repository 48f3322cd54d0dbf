// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall, for short blocks: in round k the blocks whose distance to go has bit k travel 2^k members on together (J. Bruck
// et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997).
// ceil(log2 n) (L + 2o + n/2 m G), and copies.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void alltoall_bruck(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  const uint64_t block = call.length;
  const Place turned = b.scratch(n * block);  // by the distance to go
  const Place out = b.scratch((n + 1) / 2 * block);
  const Place in = b.scratch((n + 1) / 2 * block);
  for (uint32_t i = 0; i < n; ++i)
    b.copy(call.own().plus(above(call, i) * block), turned.plus(i * block), block);
  b.next_round();
  for (uint32_t distance = 1; distance < n; distance *= 2) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; ++i)
      if ((i & distance) != 0) b.copy(turned.plus(i * block), out.plus(count++ * block), block);
    b.next_round();
    b.send(above(call, distance), out, count * block);
    b.receive(below(call, distance), in, count * block);
    b.next_round();
    count = 0;
    for (uint32_t i = 0; i < n; ++i)
      if ((i & distance) != 0) b.copy(in.plus(count++ * block), turned.plus(i * block), block);
    b.next_round();
  }
  for (uint32_t i = 0; i < n; ++i)
    b.copy(turned.plus(i * block), kReceived.plus(below(call, i) * block), block);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Allgather by exchanges with the two neighbours in turn, two blocks at a time (J. Chen et al., "Performance evaluation of
// allgather algorithms on terascale Linux cluster with fast Ethernet", 2005). n/2 (L + 2o) + (n - 1) m G. An odd number of members
// has no pairs: they use the ring.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allgather_neighbor_exchange(const CollectiveCall& call, Builder& b) {
  const uint32_t n = call.size;
  if (n % 2 != 0) {
    allgather_ring(call, b);
    return;
  }
  const Blocks all = received_blocks(call);
  const uint64_t own = all.of(call.me);
  const Place source = own_block(call, b, all);
  const bool even = call.me % 2 == 0;
  const uint32_t pair = call.me - call.me % 2;  // blocks come and go by pairs, named by the first
  const uint32_t partner = even ? call.me + 1 : call.me - 1;
  const uint32_t neighbors[2] = {partner, even ? below(call, 1) : above(call, 1)};
  b.send(partner, source, own);
  b.receive(partner, kReceived.plus(all.at(partner)), all.of(partner));
  b.next_round();
  uint32_t out = pair;
  uint32_t in[2] = {pair, pair};
  for (uint32_t k = 1; k < n / 2; ++k) {
    const uint32_t side = k % 2;
    const bool upwards = even == (side == 0);
    in[side] = (in[side] + (upwards ? 2 : n - 2)) % n;
    b.exchange(neighbors[side], blocks(all, kReceived, out, out + 2), neighbors[side],
               blocks(all, kReceived, in[side], in[side] + 2));
    out = in[side];
  }
}

}  // namespace ompl::coll

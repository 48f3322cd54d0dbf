// SPDX-License-Identifier: BSD-3-Clause
// Every member's block to every other, straight; of alltoall the algorithms that pass nothing on.
#pragma once

#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

// With one partner in a round, or with all in one.
inline void exchange_blocks(const CollectiveCall& call, Builder& b, bool one_at_a_time) {
  const Blocks in = received_blocks(call);
  const Blocks out = call.in_place ? in : sent_blocks(call);
  const Place source = call.in_place ? b.scratch(extent(in, call.size)) : kSent;
  if (call.in_place) {
    b.copy(kReceived, source, extent(in, call.size));
    b.next_round();
  }
  b.copy(source.plus(out.at(call.me)), kReceived.plus(in.at(call.me)), in.of(call.me));
  for (uint32_t k = 1; k < call.size; ++k) {
    const uint32_t to = above(call, k);
    const uint32_t from = below(call, k);
    b.send(to, source.plus(out.at(to)), out.of(to));
    b.receive(from, kReceived.plus(in.at(from)), in.of(from));
    if (one_at_a_time) b.next_round();
  }
}

}  // namespace ompl::coll

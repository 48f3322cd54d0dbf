// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in which every member puts to every other at once. L + 2o + (n - 2) g + (n - 1) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void alltoall_direct(const Call& call, Builder& b) {
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
  }
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a chain of all members in segments: each is passed on while the next one comes in (J. Pjesivac-Grbovic et al.,
// "Performance analysis of MPI collective operations", 2007). With s segments (n + s - 2) (L + 2o + m/s G).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void broadcast_chain(const CollectiveCall& call, Builder& b) {
  constexpr uint64_t kSegment = 65536;
  constexpr uint64_t kMostSegments = 1024;
  const uint32_t place = below(call, call.root);
  const uint64_t segment = std::max(kSegment, (call.length + kMostSegments - 1) / kMostSegments);
  const uint64_t count = (call.length + segment - 1) / segment;
  const auto bytes = [&](uint64_t i) { return std::min(segment, call.length - i * segment); };
  for (uint64_t i = 0; i <= count; ++i) {
    if (place > 0 && i < count) b.receive(below(call, 1), kReceived.plus(i * segment), bytes(i));
    if (place + 1 < call.size && i > 0)
      b.send(above(call, 1), kReceived.plus((i - 1) * segment), bytes(i - 1));
    b.next_round();
  }
}

}  // namespace ompl::coll

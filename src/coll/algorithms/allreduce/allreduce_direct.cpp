// SPDX-License-Identifier: BSD-3-Clause
// Allreduce in which every member puts its data to every other at once, and each combines them all, in the members' order: the results are
// the same to the last bit. For short data of few members. L + 2o + (n - 2) g + (n - 1) (m G + m c).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void allreduce_direct(const CollectiveCall& call, Builder& b) {
  constexpr bool kBehind = true;
  std::vector<Place> data(call.size, kReceived);
  for (uint32_t k = 1; k < call.size; ++k) {
    const uint32_t from = below(call, k);
    data[from] = b.scratch(call.length);
    b.send_combined(above(call, k), call.own(), call.length);
    b.receive_uncombined(from, data[from], call.length);
  }
  b.copy(call.own(), kReceived, call.length);
  for (uint32_t member = 1; member < call.size; ++member) {
    b.next_round();
    if (member == call.me)
      b.reduce(data[0], kReceived, call.length);
    else
      b.reduce(data[member], member < call.me ? data[0] : kReceived, call.length, kBehind);
  }
}

}  // namespace ompl::coll

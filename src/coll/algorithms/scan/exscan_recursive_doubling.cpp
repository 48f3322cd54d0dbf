// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan: the members' data go one member up, where they are scanned as by scan_recursive_doubling.cpp.
// (1 + ceil(log2 (n - 1))) (L + 2o + m G) and combinations. Keeps the members' order.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/scan/scanning.hpp"

namespace ompl::coll {

void exscan_recursive_doubling(const CollectiveCall& call, Builder& b) {
  const Place other = b.scratch(call.length);
  const uint32_t place = call.me - 1;  // of those that have received
  const bool lands_in_result = call.me > 0 && scan_rounds(place) % 2 == 0;
  const Place shifted = lands_in_result ? kReceived : other;
  Place have = call.own();
  if (call.in_place && lands_in_result) {
    have = b.scratch(call.length);
    b.copy(kReceived, have, call.length);
    b.next_round();
  }
  if (call.me + 1 < call.size) b.send(call.me + 1, have, call.length);
  if (call.me == 0) return;
  b.receive(call.me - 1, shifted, call.length);
  b.next_round();
  scan_from(call, b, {.place = place, .count = call.size - 1, .first = 1}, shifted, other);
}

}  // namespace ompl::coll

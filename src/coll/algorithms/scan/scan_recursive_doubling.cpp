// SPDX-License-Identifier: BSD-3-Clause
// Scan in which each member's partial result travels 1, 2, 4, ... members up (W. Hillis, G. Steele, "Data parallel algorithms",
// 1986). ceil(log2 n) (L + 2o + m G + m c). Keeps the members' order.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/scan/scanning.hpp"

namespace ompl::coll {

uint32_t scan_rounds(uint32_t place) { return static_cast<uint32_t>(std::bit_width(place)); }

void scan_from(const CollectiveCall& call, Builder& b, const ScanOrder& order, Place have,
               Place other) {
  uint32_t left = scan_rounds(order.place);
  for (uint32_t distance = 1; distance < order.count; distance *= 2) {
    if (order.place + distance < order.count)
      b.send_combined(order.first + order.place + distance, have, call.length);
    if (order.place >= distance) {
      const Place to = --left % 2 == 0 ? kReceived : other;  // the last one is the result
      b.combine(order.first + order.place - distance, have, to, call.length);
      have = to;
    }
    b.next_round();
  }
}

void scan_recursive_doubling(const CollectiveCall& call, Builder& b) {
  const Place other = b.scratch(call.length);
  Place have = call.own();
  if (call.me == 0 && !call.in_place) b.copy(have, kReceived, call.length);
  if (call.in_place && scan_rounds(call.me) % 2 == 1) {
    b.copy(have, other, call.length);
    b.next_round();
    have = other;
  }
  scan_from(call, b, {.place = call.me, .count = call.size, .first = 0}, have, other);
}

}  // namespace ompl::coll

// SPDX-License-Identifier: BSD-3-Clause
// How algorithms divide members and data.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "coll/call.hpp"
#include "coll/schedule/builder.hpp"

namespace ompl::coll {

// The members as a power of two of groups: the first 2 * extra of them in pairs, of which the lower hands its part to the upper and waits
// for the result (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
// MPICH", 2005). Groups and members stand in the same order.
struct Groups {
  explicit Groups(const CollectiveCall& call)
      : count(std::bit_floor(call.size)),
        extra(call.size - count),
        mine(call.me < 2 * extra ? call.me / 2 : call.me - extra),
        hands_over(call.me < 2 * extra && call.me % 2 == 0),
        takes_over(call.me < 2 * extra && call.me % 2 == 1) {}

  // The first member of a group, and the one that acts for it.
  [[nodiscard]] uint32_t first(uint32_t group) const { return group + std::min(group, extra); }
  [[nodiscard]] uint32_t acting(uint32_t group) const { return first(group) + (group < extra ? 1 : 0); }

  uint32_t count;
  uint32_t extra;
  uint32_t mine;
  bool hands_over;
  bool takes_over;
};

// Who hands over: true, and its schedule is complete, the result included.
inline bool hand_over(const Groups& groups, const CollectiveCall& call, Builder& b, uint64_t length,
                      uint64_t result) {
  if (!groups.hands_over) return false;
  b.send_combined(call.me + 1, call.own(), length);
  b.next_round();
  b.receive(call.me + 1, kReceived, result);
  return true;
}

// Recursive halving: what this group has is combined in `room`, in which its own part, from at(mine) to at(mine + 1), then
// lies. at(group): where a group's part begins.
template <class At>
void halve(const Groups& groups, Builder& b, Place have, Place room, const At& at) {
  uint32_t low = 0;
  for (uint32_t half = groups.count / 2; half > 0; half /= 2) {
    const bool upper = (groups.mine & half) != 0;
    const uint32_t peer = groups.acting(groups.mine ^ half);
    const uint32_t kept = upper ? low + half : low;
    const uint32_t given = upper ? low : low + half;
    b.send_combined(peer, have.plus(at(given)), at(given + half) - at(given));
    b.combine(peer, have.plus(at(kept)), room.plus(at(kept)), at(kept + half) - at(kept));
    b.next_round();
    have = room;
    low = kept;
  }
}

// Data in parts of whole elements, nearly equal.
struct Parts {
  uint64_t bytes;
  uint64_t element;
  uint32_t count;

  [[nodiscard]] uint64_t at(uint32_t part) const { return bytes / element * part / count * element; }
  [[nodiscard]] uint64_t between(uint32_t first, uint32_t end) const { return at(end) - at(first); }
  [[nodiscard]] uint64_t of(uint32_t part) const { return between(part, part + 1); }
};

// The member `distance` above, or below, in a circle.
inline uint32_t above(const CollectiveCall& call, uint32_t distance) {
  return (call.me + distance % call.size) % call.size;
}
inline uint32_t below(const CollectiveCall& call, uint32_t distance) {
  return (call.me + call.size - distance % call.size) % call.size;
}

// Blocks [first, end) of a buffer that holds one for each member.
inline Ranges blocks(const Blocks& of, Place buffer, uint32_t first, uint32_t end) {
  Ranges ranges;
  for (uint32_t i = first; i < end; ++i) ranges.push_back({buffer.plus(of.at(i)), of.of(i)});
  return ranges;
}

// The blocks of allgather and gather as they lie in the receive buffer, of alltoall and scatter as in the send buffer.
inline Blocks received_blocks(const CollectiveCall& call) {
  Blocks all = call.received;
  all.length = call.length;
  return all;
}
inline Blocks sent_blocks(const CollectiveCall& call) {
  Blocks all = call.sent;
  all.length = call.length;
  return all;
}

// Where the own block of an allgather is sent from; it is copied to its place.
inline Place own_block(const CollectiveCall& call, Builder& b, const Blocks& all) {
  const Place mine = kReceived.plus(all.at(call.me));
  if (call.in_place) return mine;
  b.copy(kSent, mine, all.of(call.me));
  return kSent;
}

// Bytes from the beginning of a buffer to the end of its last block.
inline uint64_t extent(const Blocks& all, uint32_t members) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < members; ++i) end = std::max(end, all.at(i) + all.of(i));
  return end;
}

}  // namespace ompl::coll
